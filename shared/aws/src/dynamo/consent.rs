//! The consent gate on DynamoDB: what a subject allows and declines, read once a request.
//!
//! The read is a consistent one, on purpose: someone who has just declined is declined from the next
//! request on. It costs twice an eventually consistent read, one read unit for up to 4 KiB.

use std::collections::HashMap;

use async_trait::async_trait;
use aws_config::SdkConfig;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use eventlane_contracts::ClaimPath;
use eventlane_ingest::{Admission, Claims, Gate, GateError, GatedEvent, JudgedBy};

use super::fault::word;

/// Stands for every stream in `granted` or `declined`. No stream is called so.
const ALL: &str = "*";

/// What holds for a stream that a subject's item doesn't mention, or without an item.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ConsentDefault {
    /// Refused: consent has to be given.
    #[default]
    Deny,
    /// Admitted: consent has to be withdrawn.
    Allow,
}

/// A gate that asks a DynamoDB table with the string key `subject`. Clones share the client.
///
/// An item has `subject` (the claim's text, as an event would be stamped with it), and where they
/// apply `granted` and `declined`: sets, or lists, of streams' names, in which `*` is every stream.
/// A name in both is declined; a name counts more than `*`. What isn't mentioned follows the
/// [default](ConsentDefault).
///
/// A token without a subject, an item that can't be read and a table that can't be asked are neither
/// a yes nor a no: the events are deferred. A refusal is final, and no mistake of ours may be one.
#[derive(Clone)]
pub struct DynamoConsent {
    client: Client,
    table: String,
    claim: ClaimPath,
    default: ConsentDefault,
}

impl DynamoConsent {
    /// Consent in this table, which must exist; nothing is asked here. The subject is the claim `sub`,
    /// and what isn't mentioned is denied.
    #[must_use]
    pub fn new(config: &SdkConfig, table: impl Into<String>) -> Self {
        Self {
            client: Client::new(config),
            table: table.into(),
            claim: ClaimPath::new(["sub"]),
            default: ConsentDefault::default(),
        }
    }

    /// Sets the claim that is the subject.
    #[must_use]
    pub fn with_claim(mut self, claim: ClaimPath) -> Self {
        self.claim = claim;
        self
    }

    /// Sets what holds where nothing is said.
    #[must_use]
    pub fn with_default(mut self, default: ConsentDefault) -> Self {
        self.default = default;
        self
    }

    async fn read(&self, claims: &Claims) -> Result<Consent, GateError> {
        let subject = self
            .claim
            .text(claims.as_map())
            .map_err(|trouble| GateError(format!("claim {} is {trouble}", self.claim)))?;
        let get = self
            .client
            .get_item()
            .table_name(&self.table)
            .key("subject", AttributeValue::S(subject))
            .consistent_read(true);
        let answer = get.send().await.map_err(|error| GateError(word(&error)))?;
        Consent::of(&answer.item.unwrap_or_default(), self.default)
    }
}

#[async_trait]
impl Gate for DynamoConsent {
    fn judged_by(&self) -> JudgedBy {
        JudgedBy::Stream
    }

    async fn for_request(&self, claims: &Claims) -> Result<Option<Box<dyn Gate>>, GateError> {
        Ok(Some(Box::new(self.read(claims).await?)))
    }

    async fn admit(&self, claims: &Claims, event: &GatedEvent<'_>) -> Result<Admission, GateError> {
        self.read(claims).await?.admit(claims, event).await
    }
}

/// What one subject said.
#[derive(Debug)]
struct Consent {
    granted: Vec<String>,
    declined: Vec<String>,
    default: ConsentDefault,
}

impl Consent {
    fn of(item: &HashMap<String, AttributeValue>, default: ConsentDefault) -> Result<Self, GateError> {
        let names = |attribute: &str| names(item.get(attribute)).ok_or_else(|| unreadable(attribute));
        Ok(Self { granted: names("granted")?, declined: names("declined")?, default })
    }

    fn admits(&self, stream: &str) -> bool {
        let says = |names: &[String], name: &str| names.iter().any(|one| one == name);
        for name in [stream, ALL] {
            if says(&self.declined, name) {
                return false;
            }
            if says(&self.granted, name) {
                return true;
            }
        }
        self.default == ConsentDefault::Allow
    }
}

#[async_trait]
impl Gate for Consent {
    async fn admit(&self, _: &Claims, event: &GatedEvent<'_>) -> Result<Admission, GateError> {
        if self.admits(event.stream.as_str()) {
            return Ok(Admission::Admitted);
        }
        Ok(Admission::Refused("its owner has not consented to this stream".to_owned()))
    }
}

fn unreadable(attribute: &str) -> GateError {
    GateError(format!("attribute {attribute} is no set of names"))
}

/// The names in a set or a list of strings; none where there is no attribute.
fn names(attribute: Option<&AttributeValue>) -> Option<Vec<String>> {
    match attribute {
        None | Some(AttributeValue::Null(_)) => Some(Vec::new()),
        Some(AttributeValue::Ss(names)) => Some(names.clone()),
        Some(AttributeValue::L(names)) => {
            names.iter().map(|name| name.as_s().ok().cloned()).collect::<Option<Vec<_>>>()
        }
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn consent(granted: &[&str], declined: &[&str], default: ConsentDefault) -> Consent {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Consent { granted: owned(granted), declined: owned(declined), default }
    }

    #[test]
    fn a_name_counts_more_than_all_and_declined_more_than_granted() {
        for (granted, declined, default, admitted) in [
            (&[][..], &[][..], ConsentDefault::Deny, false),
            (&[], &[], ConsentDefault::Allow, true),
            (&["a"], &[], ConsentDefault::Deny, true),
            (&["b"], &[], ConsentDefault::Deny, false),
            (&["*"], &[], ConsentDefault::Deny, true),
            (&["*"], &["a"], ConsentDefault::Allow, false),
            (&["a"], &["*"], ConsentDefault::Deny, true),
            (&["a"], &["a"], ConsentDefault::Allow, false),
            (&["*"], &["*"], ConsentDefault::Allow, false),
            (&[], &["b"], ConsentDefault::Allow, true),
        ] {
            let consent = consent(granted, declined, default);
            assert_eq!(consent.admits("a"), admitted, "{consent:?}");
        }
    }

    #[test]
    fn an_item_of_another_shape_is_neither_a_yes_nor_a_no() {
        let text = |value: &str| AttributeValue::S(value.to_owned());
        let item = |value| HashMap::from([("granted".to_owned(), value)]);
        let deny = ConsentDefault::Deny;
        let list = Consent::of(&item(AttributeValue::L(vec![text("a")])), deny).unwrap();
        assert!(list.admits("a"));
        for value in
            [text("a"), AttributeValue::Bool(true), AttributeValue::L(vec![AttributeValue::Bool(true)])]
        {
            assert!(Consent::of(&item(value), deny).is_err());
        }
    }
}

//! The idempotency ledger in DynamoDB: one conditional write a mark.
//!
//! Whether a mark has expired is judged by its own microseconds; the table's TTL, in whole seconds,
//! only tidies up, hours late as it may be. A mark's key is spread over the whole table, so no
//! partition is hot.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use aws_config::SdkConfig;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::delete_item::DeleteItemError;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValuesOnConditionCheckFailure};
use eventlane_consumer::{Claim, Ledger, LedgerError};
use eventlane_contracts::{Clock, QueuedEvent, StreamName};
use futures::{StreamExt, stream};

use super::fault::word;
use super::key::Key;

/// Writes under way at once, as the archive has them.
const WRITES_AT_ONCE: usize = 16;

/// A ledger in one DynamoDB table with the string key `pk`. Clones share the client.
///
/// A mark has `pk` (`<stream>#<event id>#<identity hash>`), `owner` (absent when done),
/// `expires_at_us` (a number, unix microseconds) and `ttl` (a number, whole unix seconds, never
/// before the expiry), which the table's TTL should be set to.
#[derive(Clone)]
pub struct DynamoLedger {
    client: Client,
    table: String,
    clock: Arc<dyn Clock>,
}

impl DynamoLedger {
    /// A ledger in this table, which must exist; nothing is asked here.
    #[must_use]
    pub fn new(config: &SdkConfig, table: impl Into<String>, clock: Arc<dyn Clock>) -> Self {
        Self { client: Client::new(config), table: table.into(), clock }
    }

    async fn claim(&self, pk: &str, owner: &str, now_us: i64, until_us: i64) -> Result<Claim, LedgerError> {
        let put = self
            .client
            .put_item()
            .table_name(&self.table)
            .set_item(Some(mark(pk, Some(owner), until_us)))
            .condition_expression("attribute_not_exists(pk) OR expires_at_us <= :now OR #owner = :owner")
            .expression_attribute_names("#owner", "owner")
            .expression_attribute_values(":now", number(now_us))
            .expression_attribute_values(":owner", text(owner))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        let Err(error) = put.send().await else { return Ok(Claim::Ours) };
        let Some(PutItemError::ConditionalCheckFailedException(there)) = error.as_service_error() else {
            return Err(LedgerError(word(&error)));
        };
        let item = there.item().ok_or_else(|| LedgerError("a mark that isn't shown".to_owned()))?;
        if !item.contains_key("owner") {
            return Ok(Claim::Done);
        }
        let until: Option<i64> = item.get("expires_at_us").and_then(|at| at.as_n().ok()?.parse().ok());
        let rest = until.unwrap_or(now_us).saturating_sub(now_us);
        Ok(Claim::Busy(Duration::from_micros(u64::try_from(rest).unwrap_or(0))))
    }

    /// Whether the mark was still this owner's.
    async fn extend(&self, pk: &str, owner: &str, until_us: i64) -> Result<bool, LedgerError> {
        let update = self
            .client
            .update_item()
            .table_name(&self.table)
            .key("pk", text(pk))
            .update_expression("SET expires_at_us = :until, #ttl = :ttl")
            .condition_expression("#owner = :owner")
            .expression_attribute_names("#owner", "owner")
            .expression_attribute_names("#ttl", "ttl")
            .expression_attribute_values(":until", number(until_us))
            .expression_attribute_values(":ttl", number(ttl_seconds(until_us)))
            .expression_attribute_values(":owner", text(owner));
        match update.send().await {
            Ok(_) => Ok(true),
            Err(error) => match error.as_service_error() {
                Some(UpdateItemError::ConditionalCheckFailedException(_)) => Ok(false),
                _ => Err(LedgerError(word(&error))),
            },
        }
    }

    async fn done(&self, pk: &str, owner: &str, now_us: i64, until_us: i64) -> Result<(), LedgerError> {
        // Handled is handled, even if the mark was lost meanwhile; another's work stays marked.
        let free = "attribute_not_exists(pk) OR attribute_not_exists(#owner) OR #owner = :owner OR expires_at_us <= :now";
        let put = self
            .client
            .put_item()
            .table_name(&self.table)
            .set_item(Some(mark(pk, None, until_us)))
            .condition_expression(free)
            .expression_attribute_names("#owner", "owner")
            .expression_attribute_values(":now", number(now_us))
            .expression_attribute_values(":owner", text(owner));
        match put.send().await {
            Ok(_) => Ok(()),
            Err(error) => match error.as_service_error() {
                Some(PutItemError::ConditionalCheckFailedException(_)) => Ok(()),
                _ => Err(LedgerError(word(&error))),
            },
        }
    }

    async fn take_back(&self, pk: &str, owner: &str) -> Result<(), LedgerError> {
        let delete = self
            .client
            .delete_item()
            .table_name(&self.table)
            .key("pk", text(pk))
            .condition_expression("#owner = :owner")
            .expression_attribute_names("#owner", "owner")
            .expression_attribute_values(":owner", text(owner));
        match delete.send().await {
            Ok(_) => Ok(()),
            Err(error) => match error.as_service_error() {
                Some(DeleteItemError::ConditionalCheckFailedException(_)) => Ok(()),
                _ => Err(LedgerError(word(&error))),
            },
        }
    }

    /// Now, and when what begins now and lasts this long ends.
    fn span(&self, lasts: Duration) -> (i64, i64) {
        let now_us = self.clock.now_us();
        (now_us, now_us.saturating_add(i64::try_from(lasts.as_micros()).unwrap_or(i64::MAX)))
    }
}

#[async_trait]
impl Ledger for DynamoLedger {
    async fn begin(
        &self,
        stream: &StreamName,
        events: &[QueuedEvent],
        owner: &str,
        lease: Duration,
    ) -> Result<Vec<Claim>, LedgerError> {
        let (now, until) = self.span(lease);
        each(stream, events, |pk| async move { self.claim(&pk, owner, now, until).await }).await
    }

    async fn renew(
        &self,
        stream: &StreamName,
        events: &[QueuedEvent],
        owner: &str,
        lease: Duration,
    ) -> Result<bool, LedgerError> {
        let (_, until) = self.span(lease);
        let ours = each(stream, events, |pk| async move { self.extend(&pk, owner, until).await }).await?;
        Ok(ours.into_iter().all(|ours| ours))
    }

    async fn finish(
        &self,
        stream: &StreamName,
        events: &[QueuedEvent],
        owner: &str,
        keep: Duration,
    ) -> Result<(), LedgerError> {
        let (now, until) = self.span(keep);
        each(stream, events, |pk| async move { self.done(&pk, owner, now, until).await }).await.map(drop)
    }

    async fn forget(
        &self,
        stream: &StreamName,
        events: &[QueuedEvent],
        owner: &str,
    ) -> Result<(), LedgerError> {
        each(stream, events, |pk| async move { self.take_back(&pk, owner).await }).await.map(drop)
    }
}

/// One write a key, several at once; one answer an event, in order. A fault is told when all are
/// through.
async fn each<T: Clone, F: Future<Output = Result<T, LedgerError>>>(
    stream: &StreamName,
    events: &[QueuedEvent],
    write: impl Fn(String) -> F,
) -> Result<Vec<T>, LedgerError> {
    let pks: Vec<String> =
        events.iter().map(|event| format!("{stream}#{}", Key::of(stream, event).sort)).collect();
    // An event that is in a message twice is marked once.
    let unique: BTreeSet<String> = pks.iter().cloned().collect();
    let writes: Vec<_> = unique.iter().cloned().map(write).collect();
    let answers: Vec<_> = stream::iter(writes).buffered(WRITES_AT_ONCE).collect().await;
    let mut by_pk = HashMap::new();
    for (pk, answer) in unique.into_iter().zip(answers) {
        by_pk.insert(pk, answer?);
    }
    Ok(pks.iter().filter_map(|pk| by_pk.get(pk).cloned()).collect())
}

fn mark(pk: &str, owner: Option<&str>, until_us: i64) -> HashMap<String, AttributeValue> {
    let mut item = HashMap::from([
        ("pk".to_owned(), text(pk)),
        ("expires_at_us".to_owned(), number(until_us)),
        ("ttl".to_owned(), number(ttl_seconds(until_us))),
    ]);
    if let Some(owner) = owner {
        item.insert("owner".to_owned(), text(owner));
    }
    item
}

/// Whole seconds, rounded up: the table never tidies up a mark that still counts.
fn ttl_seconds(until_us: i64) -> i64 {
    until_us.div_euclid(1_000_000) + i64::from(until_us.rem_euclid(1_000_000) > 0)
}

fn text(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

fn number(number: i64) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_ttl_is_in_whole_seconds_and_never_early() {
        assert_eq!([0, 1, 999_999, 1_000_000, 1_000_001].map(ttl_seconds), [0, 1, 1, 1, 2]);
    }
}

//! A message, its attributes, and what SQS refuses about them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::error::SqsError;
use super::record::Entry;

/// Bytes of a message, and of all messages of a call. Source: SQS quotas, "Message size".
pub(super) const MAXIMUM_BYTES: usize = 1_048_576;

/// Attributes of a message. Source: SQS quotas, "Message attributes".
const MAXIMUM_ATTRIBUTES: usize = 10;

/// An attribute of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Attribute {
    /// `String`, `Number` or `Binary`, with an optional `.label`.
    pub data_type: String,
    /// The value of a string or a number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub string_value: Option<String>,
    /// The value of a binary, in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub binary_value: Option<String>,
}

impl Attribute {
    /// A string.
    #[must_use]
    pub fn string(value: &str) -> Self {
        Self { data_type: "String".to_owned(), string_value: Some(value.to_owned()), binary_value: None }
    }

    /// A number.
    #[must_use]
    pub fn number(value: i64) -> Self {
        Self { data_type: "Number".to_owned(), ..Self::string(&value.to_string()) }
    }

    fn bytes(&self) -> usize {
        let text = self.string_value.as_deref().map_or(0, str::len);
        let binary =
            self.binary_value.as_deref().map_or(0, |base64| base64.trim_end_matches('=').len() * 3 / 4);
        self.data_type.len() + text + binary
    }
}

/// A message in a queue, as a test sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredMessage {
    /// The message's id.
    pub id: String,
    /// The body.
    pub body: String,
    /// The attributes.
    pub attributes: BTreeMap<String, Attribute>,
    /// How often it was received.
    pub receive_count: u32,
    /// Whether it is received and not yet visible again.
    pub in_flight: bool,
    /// When it is, or was, to be received, in unix microseconds.
    pub visible_at_us: i64,
}

/// Bytes a message counts: the body, and attributes' names, types and values.
pub(super) fn bytes(entry: &Entry) -> usize {
    let attributes = entry.attributes.iter().map(|(name, attribute)| name.len() + attribute.bytes());
    entry.body.len() + attributes.sum::<usize>()
}

/// What SQS would refuse this message for.
pub(super) fn check(entry: &Entry) -> Result<(), SqsError> {
    if entry.body.is_empty() {
        return Err(SqsError::sender(
            "MissingParameter",
            "The request must contain the parameter MessageBody.",
        ));
    }
    if !entry.body.chars().all(is_allowed) {
        let allowed = "#x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF";
        let message = format!("Invalid characters found. Valid unicode characters are {allowed}");
        return Err(SqsError::sender("InvalidMessageContents", message));
    }
    let count = entry.attributes.len();
    if count > MAXIMUM_ATTRIBUTES {
        let message = format!("Number of message attributes [{count}] exceeds the allowed maximum [10].");
        return Err(SqsError::parameter(message));
    }
    entry.attributes.iter().try_for_each(|(name, attribute)| check_attribute(name, attribute))?;
    if bytes(entry) > MAXIMUM_BYTES {
        let reason = format!("Message must be shorter than {MAXIMUM_BYTES} bytes.");
        return Err(SqsError::parameter(format!("One or more parameters are invalid. Reason: {reason}")));
    }
    Ok(())
}

fn check_attribute(name: &str, attribute: &Attribute) -> Result<(), SqsError> {
    let refuse = |what: &str| Err(SqsError::parameter(format!("Message (user) attribute '{name}' {what}")));
    let named = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let reserved = ["aws.", "amazon."].iter().any(|prefix| name.to_ascii_lowercase().starts_with(prefix));
    let dotted = name.starts_with('.') || name.ends_with('.') || name.contains("..");
    if name.is_empty() || name.len() > 256 || !name.chars().all(named) || reserved || dotted {
        return refuse("has an invalid name.");
    }
    let value = attribute.string_value.as_deref().unwrap_or_default();
    match attribute.data_type.split('.').next().unwrap_or_default() {
        "String" | "Number" if value.is_empty() => refuse("must contain a non-empty value."),
        "Number" if value.parse::<f64>().is_err() => refuse("must contain a number."),
        "String" | "Number" if !value.chars().all(is_allowed) => refuse("contains invalid characters."),
        "Binary" if attribute.binary_value.as_deref().unwrap_or_default().is_empty() => {
            refuse("must contain a non-empty value.")
        }
        "String" | "Number" | "Binary" => Ok(()),
        _ => refuse("has an invalid type."),
    }
}

/// Written anew instead of taken from the contracts: a slip there should be found here.
fn is_allowed(c: char) -> bool {
    let code = u32::from(c);
    code == 0x9 || code == 0xA || code == 0xD || (code >= 0x20 && code != 0xFFFE && code != 0xFFFF)
}

//! The body of a queue message: one stream's stamped events, in append order.

use std::collections::BTreeMap;

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::name::StreamName;
use crate::text::escape_unsendable;

/// The message format, sent as attribute `v`.
pub const MESSAGE_VERSION: u32 = 1;

/// A queue message's body as a consumer reads it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MessageBody {
    /// The stream of every event in it.
    pub stream: String,
    /// The events, in append order.
    pub events: Vec<QueuedEvent>,
}

/// One stamped event, as the handler receives it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct QueuedEvent {
    /// The event's id, lower case, hyphenated: the dedupe key end to end.
    pub event_id: String,
    /// Unix microseconds as decimal digits, as the client stamped them.
    pub occurred_at_us: String,
    /// What the server stamped from verified claims; never empty texts.
    pub identity: BTreeMap<String, String>,
    /// The payload's JSON text.
    pub payload: Box<RawValue>,
}

impl QueuedEvent {
    /// The payload as a Rust value.
    ///
    /// # Errors
    /// [`PayloadMismatch`] when the payload is no `T`.
    pub fn payload_as<T: serde::de::DeserializeOwned>(&self) -> Result<T, PayloadMismatch> {
        serde_json::from_str(self.payload.get()).map_err(|error| PayloadMismatch { column: error.column() })
    }
}

/// A payload that is not the Rust value a handler wants. serde's own words would quote the payload,
/// and a handler's error ends up in logs and dead letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the payload is not of the wanted type (column {column})")]
pub struct PayloadMismatch {
    /// Where in the payload's text, from 1; 0 for the whole.
    pub column: usize,
}

/// One event's text inside a message, ready to be joined: serialised once, before any I/O.
///
/// `payload` must be JSON text. Characters that SQS refuses are written as escapes.
#[must_use]
pub fn event_text(
    event_id: &str,
    occurred_at_us: &str,
    identity: &BTreeMap<String, String>,
    payload: &str,
) -> String {
    let mut text = String::with_capacity(payload.len() + 192);
    text.push_str("{\"eventId\":");
    match event_id.bytes().any(|byte| byte.is_ascii_uppercase()) {
        true => push_quoted(&mut text, &event_id.to_ascii_lowercase()),
        false => push_quoted(&mut text, event_id),
    }
    text.push_str(",\"occurredAtUs\":");
    push_quoted(&mut text, occurred_at_us);
    text.push_str(",\"identity\":{");
    for (index, (field, value)) in identity.iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        push_quoted(&mut text, field);
        text.push(':');
        push_quoted(&mut text, value);
    }
    text.push_str("},\"payload\":");
    text.push_str(payload);
    text.push('}');
    escape_unsendable(text)
}

/// Appends a text as a JSON string. Ids, times and claims hardly ever need an escape.
fn push_quoted(json: &mut String, text: &str) {
    if text.bytes().any(|byte| matches!(byte, b'"' | b'\\' | 0..0x20)) {
        // Writing to a `String` can't fail.
        let _ = write!(json, "{}", serde_json::Value::from(text));
    } else {
        json.push('"');
        json.push_str(text);
        json.push('"');
    }
}

/// A message's body around the texts of its events.
#[must_use]
pub fn body_text(stream: &StreamName, events: &[String]) -> String {
    let mut body = String::with_capacity(body_bytes(stream, events.iter().map(String::len)));
    let _ = write!(body, r#"{{"stream":"{stream}","events":["#);
    for (index, event) in events.iter().enumerate() {
        if index > 0 {
            body.push(',');
        }
        body.push_str(event);
    }
    body.push_str("]}");
    body
}

/// The bytes [`body_text`] takes for events of these sizes.
pub fn body_bytes(stream: &StreamName, events: impl IntoIterator<Item = usize>) -> usize {
    let frame = r#"{"stream":"","events":[]}"#.len() + stream.as_str().len();
    let (count, sum) =
        events.into_iter().fold((0usize, 0usize), |(count, sum), bytes| (count + 1, sum + bytes));
    frame + sum + count.saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_reads_back_and_its_size_is_known_beforehand() {
        let stream = StreamName::new("s").unwrap();
        let identity =
            BTreeMap::from([("a".to_owned(), "x\"y".to_owned()), ("b".to_owned(), "é".to_owned())]);
        let events = vec![
            event_text("AAAAAAAA-AAAA-4AAA-8AAA-AAAAAAAAAAAA", "1", &identity, r#"{"n":1.10}"#),
            event_text("bbbbbbbb-bbbb-4bbb-8bbb-bbbbbbbbbbbb", "2", &BTreeMap::new(), "\"\u{FFFF}\""),
        ];
        let text = body_text(&stream, &events);
        assert_eq!(text.len(), body_bytes(&stream, events.iter().map(String::len)));
        assert!(text.chars().all(crate::text::is_sendable));
        let body: MessageBody = serde_json::from_str(&text).unwrap();
        assert_eq!(body.events[0].event_id, "aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa");
        assert_eq!(body.events[0].identity, identity);
        assert_eq!(body.events[0].payload.get(), r#"{"n":1.10}"#);
        assert_eq!(body.events[1].payload_as::<String>().unwrap(), "\u{FFFF}");
    }
}

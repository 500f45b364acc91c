//! The body of a queue message: one stream's stamped events, in append order.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

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
    /// serde's, when the payload is no `T`.
    pub fn payload_as<T: serde::de::DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.payload.get())
    }
}

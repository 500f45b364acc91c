//! What the server was asked.

use std::collections::BTreeMap;

use serde_json::Value;

use super::action::Action;
use super::fault::Fault;
use super::message::Attribute;

/// A call, as it arrived.
#[derive(Debug, Clone)]
pub struct Call {
    /// What was asked.
    pub action: Action,
    /// The queue's name, whether or not it exists.
    pub queue: String,
    /// The entries of a batch call; one for a single call on a message; none otherwise.
    pub entries: Vec<Entry>,
    /// The whole request.
    pub request: Value,
    /// The server's clock at its arrival, in unix microseconds.
    pub at_us: i64,
    /// The scripted fault it met.
    pub fault: Option<Fault>,
}

/// A message, or a receipt, in a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Entry {
    /// The entry's id in its call; empty in a single call.
    pub id: String,
    /// The body of a send; empty otherwise.
    pub body: String,
    /// The attributes of a send.
    pub attributes: BTreeMap<String, Attribute>,
    /// The receipt of a delete or a change; empty otherwise.
    pub receipt: String,
    /// The seconds of a change of visibility.
    pub visibility_seconds: Option<i64>,
}

impl Call {
    /// A number of the request, such as `WaitTimeSeconds`.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<i64> {
        self.request.get(name)?.as_i64()
    }
}

/// The entries of a request.
pub(super) fn entries(action: Action, request: &Value) -> Vec<Entry> {
    match action {
        Action::SendMessage | Action::DeleteMessage | Action::ChangeMessageVisibility => vec![entry(request)],
        Action::SendMessageBatch | Action::DeleteMessageBatch | Action::ChangeMessageVisibilityBatch => {
            request["Entries"].as_array().map(|list| list.iter().map(entry).collect()).unwrap_or_default()
        }
        Action::ReceiveMessage | Action::GetQueueAttributes | Action::GetQueueUrl => Vec::new(),
    }
}

fn entry(value: &Value) -> Entry {
    let text = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
    Entry {
        id: text("Id"),
        body: text("MessageBody"),
        attributes: serde_json::from_value(value["MessageAttributes"].clone()).unwrap_or_default(),
        receipt: text("ReceiptHandle"),
        visibility_seconds: value["VisibilityTimeout"].as_i64(),
    }
}

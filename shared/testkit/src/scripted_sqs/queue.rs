//! One queue: sends, receives, visibility, receipts.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::error::SqsError;
use super::message::{self, Attribute, StoredMessage};
use super::record::Entry;

const SECOND_US: i64 = 1_000_000;

/// The longest a message may stay invisible, counted from its receive, in seconds.
const MAXIMUM_VISIBILITY: i64 = 43_200;

/// A queue's messages by the number they were sent under.
#[derive(Debug)]
pub(super) struct Queue {
    messages: BTreeMap<u64, Message>,
    sent: u64,
    pub(super) in_flight_limit: usize,
}

#[derive(Debug)]
struct Message {
    id: String,
    body: String,
    attributes: BTreeMap<String, Attribute>,
    sent_at_us: i64,
    visible_at_us: i64,
    first_received_at_us: Option<i64>,
    received_at_us: i64,
    receive_count: u32,
}

impl Message {
    fn is_in_flight(&self, now_us: i64) -> bool {
        self.receive_count > 0 && self.visible_at_us > now_us
    }
}

/// What a receive asks for.
#[derive(Debug, Default)]
pub(super) struct Receive {
    pub(super) max: usize,
    pub(super) visibility_seconds: i64,
    pub(super) system_attributes: BTreeSet<String>,
    pub(super) attributes: BTreeSet<String>,
}

impl Default for Queue {
    fn default() -> Self {
        Self { messages: BTreeMap::new(), sent: 0, in_flight_limit: 120_000 }
    }
}

impl Queue {
    /// Checks and stores a message, and returns its id.
    pub(super) fn send(
        &mut self,
        entry: &Entry,
        delay_seconds: i64,
        now_us: i64,
    ) -> Result<String, SqsError> {
        message::check(entry)?;
        if !(0..=900).contains(&delay_seconds) {
            return Err(range("DelaySeconds", delay_seconds, "between 0 and 900"));
        }
        Ok(self.store(entry.body.clone(), entry.attributes.clone(), delay_seconds, now_us))
    }

    /// Stores a message unchecked, and returns its id.
    pub(super) fn store(
        &mut self,
        body: String,
        attributes: BTreeMap<String, Attribute>,
        delay_seconds: i64,
        now_us: i64,
    ) -> String {
        self.sent += 1;
        let id = format!("00000000-0000-4000-8000-{:012x}", self.sent);
        let message = Message {
            id: id.clone(),
            body,
            attributes,
            sent_at_us: now_us,
            visible_at_us: now_us + delay_seconds * SECOND_US,
            first_received_at_us: None,
            received_at_us: now_us,
            receive_count: 0,
        };
        self.messages.insert(self.sent, message);
        id
    }

    /// Hands out visible messages, each under a new receipt.
    pub(super) fn receive(&mut self, request: &Receive, now_us: i64) -> Result<Vec<Value>, SqsError> {
        let in_flight = self.messages.values().filter(|message| message.is_in_flight(now_us)).count();
        if in_flight >= self.in_flight_limit {
            return Err(SqsError::sender("OverLimit", "Too many messages in flight."));
        }
        let room = request.max.min(self.in_flight_limit - in_flight);
        let visible = self.messages.iter_mut().filter(|(_, message)| message.visible_at_us <= now_us);
        let received = visible.take(room).map(|(number, message)| {
            message.receive_count += 1;
            message.received_at_us = now_us;
            message.first_received_at_us.get_or_insert(now_us);
            message.visible_at_us = now_us + request.visibility_seconds * SECOND_US;
            show(*number, message, request)
        });
        Ok(received.collect())
    }

    /// Deletes by receipt. A message that is gone already is no error.
    pub(super) fn delete(&mut self, receipt: &str) -> Result<(), SqsError> {
        let number = self.of_receipt(receipt)?;
        self.messages.remove(&number);
        Ok(())
    }

    /// Sets how long from now a message stays invisible.
    pub(super) fn change_visibility(
        &mut self,
        receipt: &str,
        seconds: i64,
        now_us: i64,
    ) -> Result<(), SqsError> {
        if !(0..=MAXIMUM_VISIBILITY).contains(&seconds) {
            return Err(range("VisibilityTimeout", seconds, "between 0 and 43200"));
        }
        let number = self.of_receipt(receipt)?;
        let Some(message) = self.messages.get_mut(&number) else {
            let reason = "Message does not exist or is not available for visibility timeout change.";
            return Err(SqsError::parameter(format!(
                "Value for parameter ReceiptHandle is invalid. Reason: {reason}"
            )));
        };
        if !message.is_in_flight(now_us) {
            return Err(SqsError::sender("MessageNotInflight", "The specified message isn't in flight."));
        }
        let visible_at_us = now_us + seconds * SECOND_US;
        if visible_at_us - message.received_at_us > MAXIMUM_VISIBILITY * SECOND_US {
            let message = "Total VisibilityTimeout for the message is beyond the limit [43200 seconds]";
            return Err(SqsError::parameter(message));
        }
        message.visible_at_us = visible_at_us;
        Ok(())
    }

    /// The number of the message a receipt was given for; refused when a later one was given.
    fn of_receipt(&self, receipt: &str) -> Result<u64, SqsError> {
        let (number, count) = receipt
            .strip_prefix("receipt-")
            .and_then(|rest| rest.split_once('-'))
            .ok_or_else(SqsError::receipt)?;
        let number: u64 = number.parse().map_err(|_| SqsError::receipt())?;
        let count: u32 = count.parse().map_err(|_| SqsError::receipt())?;
        let stale = self.messages.get(&number).is_some_and(|message| message.receive_count != count);
        if stale || number == 0 || number > self.sent { Err(SqsError::receipt()) } else { Ok(number) }
    }

    /// Messages that can be received, that are delayed, that are in flight.
    pub(super) fn counts(&self, now_us: i64) -> [usize; 3] {
        let count = |wanted: &dyn Fn(&Message) -> bool| self.messages.values().filter(|&m| wanted(m)).count();
        [
            count(&|message| message.visible_at_us <= now_us),
            count(&|message| message.visible_at_us > now_us && message.receive_count == 0),
            count(&|message| message.is_in_flight(now_us)),
        ]
    }

    pub(super) fn snapshot(&self, now_us: i64) -> Vec<StoredMessage> {
        let stored = |message: &Message| StoredMessage {
            id: message.id.clone(),
            body: message.body.clone(),
            attributes: message.attributes.clone(),
            receive_count: message.receive_count,
            in_flight: message.is_in_flight(now_us),
            visible_at_us: message.visible_at_us,
        };
        self.messages.values().map(stored).collect()
    }
}

/// A received message as SQS writes it: attributes only when asked for.
fn show(number: u64, message: &Message, request: &Receive) -> Value {
    let first = message.first_received_at_us.unwrap_or(message.received_at_us);
    let system = [
        ("ApproximateReceiveCount", message.receive_count.to_string()),
        ("ApproximateFirstReceiveTimestamp", (first / 1000).to_string()),
        ("SentTimestamp", (message.sent_at_us / 1000).to_string()),
        ("SenderId", "AIDAEVENTLANETESTKIT".to_owned()),
    ];
    let asked = |names: &BTreeSet<String>, name: &str| names.contains("All") || names.contains(name);
    let system: Map<String, Value> = system
        .into_iter()
        .filter(|(name, _)| asked(&request.system_attributes, name))
        .map(|(name, value)| (name.to_owned(), value.into()))
        .collect();
    let attributes: Map<String, Value> = message
        .attributes
        .iter()
        .filter(|(name, _)| asked(&request.attributes, name) || by_prefix(&request.attributes, name))
        .map(|(name, attribute)| (name.clone(), json!(attribute)))
        .collect();
    let mut shown = json!({
        "MessageId": message.id,
        "ReceiptHandle": format!("receipt-{number}-{}", message.receive_count),
        "Body": message.body,
    });
    for (name, values) in [("Attributes", system), ("MessageAttributes", attributes)] {
        if !values.is_empty() {
            shown[name] = Value::Object(values);
        }
    }
    shown
}

fn by_prefix(names: &BTreeSet<String>, name: &str) -> bool {
    names.iter().filter_map(|asked| asked.strip_suffix(".*")).any(|prefix| name.starts_with(prefix))
}

/// A number out of its range.
pub(super) fn range(name: &str, value: i64, must_be: &str) -> SqsError {
    SqsError::parameter(format!("Value {value} for parameter {name} is invalid. Reason: Must be {must_be}."))
}

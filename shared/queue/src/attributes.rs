//! A message and its public attributes.

use eventlane_contracts::limits::MESSAGE_BYTES;
use eventlane_contracts::{MESSAGE_VERSION, text};
use serde::{Deserialize, Serialize};

/// A message to enqueue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The body, JSON text of a [`MessageBody`](eventlane_contracts::MessageBody).
    pub body: String,
    /// What travels beside it.
    pub attributes: Attributes,
}

impl Message {
    /// A message of the present format without further attributes.
    #[must_use]
    pub fn new(body: String) -> Self {
        Self { body, attributes: Attributes::default() }
    }

    /// Whether SQS can take it at all: characters, size with attributes, no empty body. Every backend
    /// judges so.
    #[must_use]
    pub fn is_sendable(&self) -> bool {
        let sound = |text: &str| text.chars().all(text::is_sendable);
        !self.body.is_empty()
            && self.bytes() <= MESSAGE_BYTES
            && sound(&self.body)
            && self.attributes.to_list().iter().all(|one| sound(&one.value))
    }

    /// Bytes as the queue counts them: body, and each attribute's name, type and value.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.body.len() + self.attributes.bytes()
    }
}

/// The message attributes, public contract. Absent ones are not sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attributes {
    /// Message format, `v`.
    pub version: u32,
    /// W3C trace context of the request that brought the events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<String>,
    /// Attempts already spent: on a partial retry, or on a dead letter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    /// First receive, unix microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_received_us: Option<i64>,
    /// The message a partial retry was split from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Why the message is a dead letter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When it became one, unix microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dead_lettered_us: Option<i64>,
}

impl Default for Attributes {
    fn default() -> Self {
        Self {
            version: MESSAGE_VERSION,
            traceparent: None,
            attempts: None,
            first_received_us: None,
            parent: None,
            reason: None,
            dead_lettered_us: None,
        }
    }
}

/// One attribute as a queue carries it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attribute {
    /// The name.
    pub name: &'static str,
    /// `Number` or `String`.
    pub kind: &'static str,
    /// The value as text.
    pub value: String,
}

impl Attributes {
    /// The attributes that are there, as the queue carries them.
    #[must_use]
    pub fn to_list(&self) -> Vec<Attribute> {
        let number =
            |name, value: Option<String>| value.map(|value| Attribute { name, kind: "Number", value });
        let string = |name, value: &Option<String>| {
            // The queue takes no empty values.
            value.clone().filter(|value| !value.is_empty()).map(|value| Attribute {
                name,
                kind: "String",
                value,
            })
        };
        [
            number("v", Some(self.version.to_string())),
            string("traceparent", &self.traceparent),
            number("attempts", self.attempts.map(|n| n.to_string())),
            number("first_received_us", self.first_received_us.map(|n| n.to_string())),
            string("parent", &self.parent),
            string("reason", &self.reason),
            number("dead_lettered_us", self.dead_lettered_us.map(|n| n.to_string())),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// Reads them back. Unknown names are passed over; an unreadable number counts as absent. A
    /// message without `v` was put in by hand and reads as the present version.
    pub fn from_pairs<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut attributes = Self::default();
        for (name, value) in pairs {
            match name {
                "v" => attributes.version = value.parse().unwrap_or(0),
                "traceparent" => attributes.traceparent = Some(value.to_owned()),
                "attempts" => attributes.attempts = value.parse().ok(),
                "first_received_us" => attributes.first_received_us = value.parse().ok(),
                "parent" => attributes.parent = Some(value.to_owned()),
                "reason" => attributes.reason = Some(value.to_owned()),
                "dead_lettered_us" => attributes.dead_lettered_us = value.parse().ok(),
                _ => {}
            }
        }
        attributes
    }

    /// Bytes the attributes take in a message.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.to_list().iter().map(|one| one.name.len() + one.kind.len() + one.value.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_read_back_from_their_list() {
        let attributes = Attributes {
            version: 1,
            traceparent: Some("00-a-b-01".into()),
            attempts: Some(3),
            first_received_us: Some(-5),
            parent: Some("p".into()),
            reason: Some("r".into()),
            dead_lettered_us: Some(9),
        };
        let list = attributes.to_list();
        let back = Attributes::from_pairs(list.iter().map(|one| (one.name, one.value.as_str())));
        assert_eq!(back, attributes);
        assert_eq!(Attributes::default().bytes(), "vNumber1".len());
        assert_eq!(Attributes::from_pairs([("v", "x")]).version, 0);
    }
}

//! One event on its way into the outbox: checked before any database is asked.

use eventlane_contracts::limits::MESSAGE_BODY_BYTES;

use crate::EntryError;

/// Bytes of a topic: what MySQL's and SQL Server's columns hold, whatever the characters.
pub const TOPIC_BYTES: usize = 255;

/// Bytes of a payload: what one queue message can carry. What the lane takes is smaller (65,536 bytes
/// of payload); a publisher of your own may send more.
pub const PAYLOAD_BYTES: usize = MESSAGE_BODY_BYTES;

/// A checked row: its id is made, its texts are such that every dialect keeps them byte for byte.
///
/// For applications on a driver other than sqlx, it is also the parameters of
/// [`Statements::insert`](crate::Statements::insert), in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboxEntry<'a> {
    id: String,
    topic: &'a str,
    payload: &'a str,
}

impl<'a> OutboxEntry<'a> {
    /// Checks both texts and makes the id, a UUID of version 7 in its hyphenated form.
    ///
    /// # Errors
    /// [`EntryError`] but `Lane`, naming what is wrong and the limit.
    pub fn new(topic: &'a str, payload: &'a str) -> Result<Self, EntryError> {
        if topic.trim().is_empty() {
            return Err(EntryError::EmptyTopic);
        }
        if topic.len() > TOPIC_BYTES {
            return Err(EntryError::TopicTooLong { actual: topic.len() });
        }
        if payload.len() > PAYLOAD_BYTES {
            return Err(EntryError::PayloadTooLarge { actual: payload.len() });
        }
        for (what, text) in [("topic", topic), ("payload", payload)] {
            if let Some(at) = text.find('\0') {
                return Err(EntryError::Nul { what, at });
            }
        }
        Ok(Self { id: uuid::Uuid::now_v7().to_string(), topic, payload })
    }

    /// The row's id, and the event's on the lane.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The topic.
    #[must_use]
    pub fn topic(&self) -> &'a str {
        self.topic
    }

    /// The payload.
    #[must_use]
    pub fn payload(&self) -> &'a str {
        self.payload
    }

    /// The id alone, once the row is written.
    #[must_use]
    pub fn into_id(self) -> String {
        self.id
    }
}

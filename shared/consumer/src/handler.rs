//! The user's side: what a handler receives and how it answers.

use async_trait::async_trait;
use eventlane_contracts::{QueuedEvent, StreamName};

/// One delivery: a sub-batch exactly as it was enqueued.
#[derive(Debug)]
pub struct SubBatch {
    /// The stream of every event in it.
    pub stream: StreamName,
    /// The events, in append order.
    pub events: Vec<QueuedEvent>,
    /// Which attempt this is, from 1.
    pub attempt: u32,
    /// The queue's id of the message.
    pub message_id: String,
}

/// Handles a stream's events. Must be idempotent: a sub-batch may come again, whole.
#[async_trait]
pub trait Handler: Send + Sync {
    /// Handles one sub-batch. `Ok` acks it, for good.
    ///
    /// # Errors
    /// Brings the sub-batch again, or dead-letters it on the last attempt; the error's text becomes
    /// the dead letter's reason, so it must not quote payloads.
    async fn handle(&self, batch: &SubBatch) -> Result<(), HandlerError>;
}

/// Why a handler failed. Made from any error, or from a text.
#[derive(Debug)]
pub struct HandlerError {
    reason: String,
}

impl HandlerError {
    /// A failure with this reason.
    pub fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into() }
    }

    /// The reason.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

impl<E: std::error::Error> From<E> for HandlerError {
    fn from(error: E) -> Self {
        Self::new(error.to_string())
    }
}

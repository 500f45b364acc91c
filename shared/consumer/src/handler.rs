//! The user's side: what a handler receives and how it answers.

use std::time::Duration;

use async_trait::async_trait;
use eventlane_contracts::{QueuedEvent, StreamName};

/// One delivery: a sub-batch exactly as it was enqueued, or a part of one that failed before.
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
    /// The lease on the message: it is renewed for as long as the handler works, and what marks its
    /// work elsewhere should last no longer than this.
    pub visibility: Duration,
}

/// Handles a stream's events. Must be idempotent: a sub-batch may come again, whole.
#[async_trait]
pub trait Handler: Send + Sync {
    /// Handles one sub-batch. `Ok` acks it, for good.
    ///
    /// # Errors
    /// Brings the sub-batch again, or dead-letters it on the last attempt; the error's text becomes
    /// the dead letter's reason, so it must not quote payloads. An error that
    /// [names events](HandlerError::events) says that all others were handled.
    ///
    /// # Cancel safety
    /// Must be safe to drop: a process that dies drops it anywhere.
    async fn handle(&self, batch: &SubBatch) -> Result<(), HandlerError>;

    /// Whether errors may name events. A consumer of such a handler needs a producer, and says so at
    /// its definition. Without it names are honoured where a producer is there, else the sub-batch
    /// fails whole.
    fn names_events(&self) -> bool {
        false
    }
}

/// Why a handler failed. Made from any error, or from a text.
#[derive(Debug)]
pub struct HandlerError {
    reason: String,
    events: Vec<String>,
    busy: Option<Duration>,
}

impl HandlerError {
    /// A failure of the whole sub-batch, with this reason.
    pub fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), events: Vec::new(), busy: None }
    }

    /// A failure of the events with these ids; all others were handled and don't come again.
    pub fn events<S: Into<String>>(
        event_ids: impl IntoIterator<Item = S>,
        reason: impl Into<String>,
    ) -> Self {
        Self { events: event_ids.into_iter().map(Into::into).collect(), ..Self::new(reason) }
    }

    /// No failure: someone else is at these events, for at most this long. The sub-batch is given
    /// back until then and never dead-lettered for it.
    #[must_use]
    pub fn busy(rest: Duration) -> Self {
        Self { busy: Some(rest), ..Self::new("someone else is at these events") }
    }

    /// The reason.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// The ids of the events that failed; empty when all did.
    #[must_use]
    pub fn failed_events(&self) -> &[String] {
        &self.events
    }

    /// How long someone else may be at these events, if that is why.
    #[must_use]
    pub fn busy_for(&self) -> Option<Duration> {
        self.busy
    }
}

impl<E: std::error::Error> From<E> for HandlerError {
    fn from(error: E) -> Self {
        Self::new(error.to_string())
    }
}

//! The seam: what the lane asks of a queue. Mechanics only, no pacing.

use std::time::Duration;

use async_trait::async_trait;
use eventlane_contracts::StreamName;
use tokio::time::Instant;

use crate::{
    Choice, DeadLetterPage, Delivery, Discarded, EnqueueError, Lease, Message, QueueCounts, QueueError,
    Receipt, Redrive, Requeued, Unsettled,
};

/// Puts messages on streams' queues.
#[async_trait]
pub trait Producer: Send + Sync {
    /// Enqueues messages on one stream's queue: one outcome per message, in order. `Ok` means that
    /// the queue confirmed this message.
    ///
    /// # Cancel safety
    /// Not cancel safe: a dropped call may have enqueued some messages.
    async fn enqueue(&self, stream: &StreamName, messages: &[Message]) -> Vec<Result<(), EnqueueError>>;

    /// The same, over by `deadline`. What was confirmed until then stays confirmed; the rest counts as
    /// [unavailable](EnqueueError::Unavailable), though some of it may be queued.
    ///
    /// A backend that makes several calls answers for each; without an answer of its own the whole
    /// enqueue is one.
    async fn enqueue_by(
        &self,
        stream: &StreamName,
        messages: &[Message],
        deadline: Instant,
    ) -> Vec<Result<(), EnqueueError>> {
        let enqueued = tokio::time::timeout_at(deadline, self.enqueue(stream, messages)).await;
        enqueued.unwrap_or_else(|_| vec![Err(EnqueueError::out_of_time()); messages.len()])
    }

    /// Enqueues one message that is handed out after `delay` at the earliest, 15 minutes at most: a
    /// retry that waits its turn. The default is for producers without delays and enqueues at once.
    ///
    /// # Errors
    /// [`EnqueueError`], as for [`enqueue`](Self::enqueue).
    ///
    /// # Cancel safety
    /// Not cancel safe: a dropped call may have enqueued the message.
    async fn enqueue_after(
        &self,
        stream: &StreamName,
        message: &Message,
        delay: Duration,
    ) -> Result<(), EnqueueError> {
        let _ = delay;
        let outcome = self.enqueue(stream, std::slice::from_ref(message)).await.pop();
        outcome.unwrap_or_else(|| Err(EnqueueError::Unconfirmed("no outcome".to_owned())))
    }
}

/// The longest delay of an [`enqueue_after`](Producer::enqueue_after). Source: SQS `SendMessage`,
/// `DelaySeconds`.
pub const MAX_DELAY: Duration = Duration::from_secs(900);

/// Takes messages from streams' queues and settles them.
///
/// Every call that takes many answers for each, in order.
#[async_trait]
pub trait Consumer: Send + Sync {
    /// Leases up to `max` messages for `visibility`, waiting up to `wait` for the first one.
    ///
    /// # Errors
    /// The whole read's; nothing was leased that the caller could settle.
    ///
    /// # Cancel safety
    /// A dropped call may have leased messages; they lapse.
    async fn receive(
        &self,
        stream: &StreamName,
        max: usize,
        visibility: Duration,
        wait: Duration,
    ) -> Result<Vec<Delivery>, QueueError>;

    /// Makes leases last `visibility` from now.
    async fn extend(
        &self,
        stream: &StreamName,
        leases: &[Lease],
        visibility: Duration,
    ) -> Vec<Result<(), QueueError>>;

    /// Deletes messages: they are done.
    async fn ack(&self, stream: &StreamName, receipts: Vec<Receipt>) -> Vec<Result<(), Unsettled>>;

    /// Gives messages back, to be handed out again after `delay`.
    async fn release(
        &self,
        stream: &StreamName,
        receipts: Vec<Receipt>,
        delay: Duration,
    ) -> Vec<Result<(), Unsettled>>;

    /// Copies the message to the dead letters with `reason`, `attempts` and times, then deletes it.
    ///
    /// # Errors
    /// [`Unsettled`] when the copy or the delete failed; after a failed delete both exist.
    async fn dead_letter(&self, delivery: Delivery, reason: &str, attempts: u32) -> Result<(), Unsettled>;

    /// Lists up to `limit` dead letters and leaves them where they are.
    ///
    /// # Errors
    /// [`QueueError`] when the dead letters can't be read.
    async fn dead_letters(&self, stream: &StreamName, limit: usize) -> Result<DeadLetterPage, QueueError>;

    /// Puts up to `limit` chosen dead letters back on the stream's queue, as new messages with no
    /// attempt spent. Copy first, delete second.
    ///
    /// # Errors
    /// [`QueueError`] when the dead letters can't be read or a copy fails; those done stay done.
    async fn requeue(
        &self,
        stream: &StreamName,
        choose: &Choice<'_>,
        limit: usize,
    ) -> Result<Requeued, QueueError>;

    /// Deletes up to `limit` chosen dead letters, for good.
    ///
    /// # Errors
    /// [`QueueError`] when the dead letters can't be read or a delete fails; those done stay done.
    async fn discard(
        &self,
        stream: &StreamName,
        choose: &Choice<'_>,
        limit: usize,
    ) -> Result<Discarded, QueueError>;

    /// Puts a message beside the stream's dead letters, with the story its attributes tell: the part
    /// of a sub-batch that failed for good, where the rest was handled.
    ///
    /// # Errors
    /// [`QueueError`] when it isn't known to be stored.
    async fn put_dead_letter(&self, stream: &StreamName, message: &Message) -> Result<(), QueueError>;

    /// Lets the service move every dead letter back to the stream's own queue, which is named as the
    /// destination.
    ///
    /// # Errors
    /// [`QueueError`] when the service has a redrive and refuses this one.
    async fn redrive(&self, stream: &StreamName) -> Result<Redrive, QueueError> {
        let _ = stream;
        Ok(Redrive::Unsupported)
    }

    /// What the stream's queue and its dead letters hold now.
    ///
    /// # Errors
    /// [`QueueError`] when either can't be asked.
    async fn counts(&self, stream: &StreamName) -> Result<QueueCounts, QueueError>;
}

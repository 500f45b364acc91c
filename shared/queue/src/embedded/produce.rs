//! Enqueue on the embedded queue.

use std::time::Duration;

use async_trait::async_trait;
use eventlane_contracts::StreamName;
use uuid::Uuid;

use super::{EmbeddedQueue, after};
use crate::{EnqueueError, MAX_DELAY, Message, Producer, QueueError};

#[async_trait]
impl Producer for EmbeddedQueue {
    async fn enqueue(&self, stream: &StreamName, messages: &[Message]) -> Vec<Result<(), EnqueueError>> {
        self.store(stream, messages, Duration::ZERO).await
    }

    async fn enqueue_after(
        &self,
        stream: &StreamName,
        message: &Message,
        delay: Duration,
    ) -> Result<(), EnqueueError> {
        self.store(stream, std::slice::from_ref(message), delay.min(MAX_DELAY)).await.remove(0)
    }
}

impl EmbeddedQueue {
    /// One outcome a message, in order.
    async fn store(
        &self,
        stream: &StreamName,
        messages: &[Message],
        delay: Duration,
    ) -> Vec<Result<(), EnqueueError>> {
        let sendable: Vec<bool> = messages.iter().map(Message::is_sendable).collect();
        let rows: Vec<(String, String)> = messages
            .iter()
            .zip(&sendable)
            .filter(|(_, sendable)| **sendable)
            .map(|(message, _)| (message.body.clone(), attributes_text(message)))
            .collect();
        let now = self.inner.clock.now_us();
        // One transaction: all sendable messages of the call, or none.
        let stored = self
            .in_transaction(stream, move |transaction, stream| {
                let mut insert = transaction.prepare_cached(
                    "INSERT INTO messages (id, stream, body, attributes, enqueued_at_us, visible_at_us) \
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                )?;
                for (body, attributes) in &rows {
                    let visible_at = after(now, delay);
                    insert.execute((
                        Uuid::now_v7().to_string(),
                        stream,
                        body,
                        attributes,
                        now,
                        visible_at,
                    ))?;
                }
                Ok(())
            })
            .await;
        if stored.is_ok() {
            self.inner.enqueued.notify_waiters();
        }
        sendable
            .into_iter()
            .map(|sendable| match &stored {
                _ if !sendable => Err(EnqueueError::Contents),
                Ok(()) => Ok(()),
                Err(QueueError::Queue(why)) => Err(EnqueueError::Queue(why.clone())),
                Err(QueueError::Unavailable(why)) => Err(EnqueueError::Unavailable(why.clone())),
                Err(QueueError::Lapsed) => Err(EnqueueError::Unconfirmed("lapsed".to_owned())),
            })
            .collect()
    }
}

fn attributes_text(message: &Message) -> String {
    // A struct of numbers and texts always serialises.
    serde_json::to_string(&message.attributes).unwrap_or_default()
}

//! Deliver: one message to its handler, and what follows from the answer.

use std::panic::AssertUnwindSafe;

use eventlane_contracts::{MESSAGE_VERSION, MessageBody, StreamName};
use eventlane_queue::Delivery;
use futures::FutureExt;

use crate::lease::Leases;
use crate::{DeadLettered, EventConsumer, Handler, HandlerError, SubBatch};

/// What became of one delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The handler said `Ok` to this many events.
    Delivered(usize),
    /// It will come again.
    Retried,
    /// It is a dead letter.
    DeadLettered,
}

enum Unread {
    /// Not JSON or not the shape: no version of us will ever read it.
    Unreadable,
    /// Well-formed, but of a stream or version that this build doesn't know: deploy skew.
    Unknown(HandlerError),
}

impl EventConsumer {
    pub(crate) async fn deliver(
        &self,
        delivery: Delivery,
        handler: &dyn Handler,
        leases: &Leases<'_>,
    ) -> Outcome {
        let attempt = attempt(&delivery);
        let stream = delivery.stream.clone();
        let batch = match self.read(&delivery, attempt) {
            Ok(batch) => batch,
            Err(Unread::Unreadable) => {
                leases.stop(&delivery.id);
                return self.bury(delivery, Vec::new(), "unreadable message body".to_owned(), 0).await;
            }
            Err(Unread::Unknown(error)) => {
                return self.fail(delivery, Vec::new(), attempt, error, leases).await;
            }
        };
        // A panic is contained: it is this delivery's failure and nobody else's. Its text may quote
        // a payload, so it goes nowhere.
        let answer = AssertUnwindSafe(handler.handle(&batch)).catch_unwind().await;
        match answer.unwrap_or_else(|_| Err(HandlerError::new("the handler panicked"))) {
            Ok(()) => {
                // Renewal goes on beside the ack, so that the lease can't lapse under it.
                self.ack(&stream, &delivery.id, delivery.receipt).await;
                leases.stop(&delivery.id);
                Outcome::Delivered(batch.events.len())
            }
            Err(error) => {
                let event_ids = batch.events.into_iter().map(|event| event.event_id).collect();
                self.fail(delivery, event_ids, attempt, error, leases).await
            }
        }
    }

    fn read(&self, delivery: &Delivery, attempt: u32) -> Result<SubBatch, Unread> {
        let version = delivery.attributes.version;
        if version != MESSAGE_VERSION {
            return Err(Unread::Unknown(HandlerError::new(format!("unknown message version {version}"))));
        }
        let body: MessageBody = serde_json::from_str(&delivery.body).map_err(|_| Unread::Unreadable)?;
        if body.events.is_empty() {
            return Err(Unread::Unreadable);
        }
        if self.registry.stream(&body.stream).is_none() || body.stream != delivery.stream.as_str() {
            return Err(Unread::Unknown(HandlerError::new("the message's stream is not this queue's")));
        }
        Ok(SubBatch {
            stream: delivery.stream.clone(),
            events: body.events,
            attempt,
            message_id: delivery.id.clone(),
        })
    }

    async fn fail(
        &self,
        delivery: Delivery,
        event_ids: Vec<String>,
        attempt: u32,
        error: HandlerError,
        leases: &Leases<'_>,
    ) -> Outcome {
        // Renewal stops at once: the lease's end is the latest the message comes again.
        leases.stop(&delivery.id);
        if attempt >= self.options.max_attempts {
            return self.bury(delivery, event_ids, error.reason().to_owned(), attempt).await;
        }
        let stream = delivery.stream.clone();
        tracing::info!(%stream, message = %delivery.id, attempt, reason = %error.reason(), "a handler failed");
        if let Some(delay) = self.options.retry_delay(attempt) {
            self.give_back(&stream, &delivery.id, delivery.receipt, delay).await;
        }
        Outcome::Retried
    }

    async fn bury(
        &self,
        delivery: Delivery,
        event_ids: Vec<String>,
        reason: String,
        attempts: u32,
    ) -> Outcome {
        let told = DeadLettered {
            stream: delivery.stream.clone(),
            message_id: delivery.id.clone(),
            event_ids,
            reason: eventlane_contracts::text::dead_letter_reason(&reason),
            attempts,
        };
        if self.dead_letter(delivery, told).await { Outcome::DeadLettered } else { Outcome::Retried }
    }

    /// Messages that were read and not started: back at once.
    pub(crate) async fn release_unstarted(
        &self,
        stream: &StreamName,
        delivery: Delivery,
        leases: &Leases<'_>,
    ) {
        leases.stop(&delivery.id);
        self.give_back(stream, &delivery.id, delivery.receipt, std::time::Duration::ZERO).await;
    }
}

/// The receive count plus what a partial retry carried over. A redriven dead letter starts afresh.
fn attempt(delivery: &Delivery) -> u32 {
    let carried = match delivery.attributes.dead_lettered_us {
        Some(_) => 0,
        None => delivery.attributes.attempts.unwrap_or(0),
    };
    delivery.receive_count.saturating_add(carried)
}

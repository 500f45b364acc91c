//! Deliver: one message to its handler, and what follows from the answer.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use eventlane_contracts::{MESSAGE_VERSION, MessageBody};
use eventlane_queue::{Delivery, Traceparent};
use futures::FutureExt;
use tracing::Instrument;

use crate::consumer::Core;
use crate::halt::Halt;
use crate::lease::Leases;
use crate::memory::Arrival;
use crate::{DeadLettered, Handler, HandlerError, SubBatch};

/// The shortest time a message is hidden for because someone else is at its events.
pub(crate) const BUSY_FLOOR: Duration = Duration::from_secs(1);

/// What became of one delivery.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// Whether the message's work is over: it doesn't have to come again.
    pub(crate) settled: bool,
    /// Whether the handler took all of it.
    pub(crate) delivered: bool,
    /// Events the handler took.
    pub(crate) events: usize,
    /// Whether it, or a part of it, is a dead letter.
    pub(crate) dead_lettered: bool,
}

enum Unread {
    /// Not JSON or not the shape: no version of us will ever read it.
    Unreadable,
    /// Well-formed, but of a stream or version that this build doesn't know: deploy skew.
    Unknown(HandlerError),
}

/// One attempt, on its way to its end.
pub(crate) struct Attempt<'a> {
    pub(crate) handler: &'a dyn Handler,
    pub(crate) leases: &'a Leases<'a>,
    pub(crate) halt: &'a Halt,
    pub(crate) number: u32,
}

impl Core {
    /// Delivers under the trace of the request that brought the events, so that every line, a handler's
    /// too, names it. What a queue says is judged anew: others may write to it.
    pub(crate) async fn deliver(
        &self,
        delivery: Delivery,
        handler: &dyn Handler,
        leases: &Leases<'_>,
        halt: &Halt,
    ) -> Outcome {
        let trace = delivery.attributes.traceparent.as_deref().and_then(Traceparent::parse);
        let span = tracing::error_span!("delivery", trace = trace.as_ref().map(Traceparent::trace_id));
        self.deliver_traced(delivery, handler, leases, halt).instrument(span).await
    }

    async fn deliver_traced(
        &self,
        delivery: Delivery,
        handler: &dyn Handler,
        leases: &Leases<'_>,
        halt: &Halt,
    ) -> Outcome {
        let (stream, message_id) = (delivery.stream.clone(), delivery.id.clone());
        // A message without an id is nobody's double: its receipt stands for it.
        let name = if message_id.is_empty() { delivery.receipt.handle() } else { &message_id };
        let work = match self.memory.arrive(&stream, name) {
            Arrival::New(work) => work,
            Arrival::Done => {
                let lease = delivery.receipt.lease();
                self.ack(&stream, &message_id, delivery.receipt).await;
                leases.stop_lease(&lease).await;
                return Outcome { settled: true, ..Outcome::default() };
            }
            Arrival::Running => {
                // The callback that runs settles it, or remembers it as done.
                leases.stop(&delivery.receipt).await;
                return Outcome::default();
            }
        };
        let attempt = Attempt { handler, leases, halt, number: number(&delivery) };
        let outcome = match self.read(&delivery, attempt.number) {
            Ok(batch) => self.attempt(delivery, batch, &attempt).await,
            Err(Unread::Unreadable) => {
                leases.stop(&delivery.receipt).await;
                self.bury(delivery, Vec::new(), "unreadable message body", 0).await
            }
            Err(Unread::Unknown(error)) => {
                self.tallies.count(&stream, |tally| tally.failed += 1);
                self.fail(delivery, Vec::new(), error, &attempt).await
            }
        };
        match outcome {
            End::Settled(outcome) => Outcome { settled: true, ..outcome },
            End::NotAcked(outcome) => {
                work.remember();
                Outcome { settled: true, ..outcome }
            }
            End::Again(outcome) => outcome,
        }
    }

    async fn attempt(&self, delivery: Delivery, batch: SubBatch, attempt: &Attempt<'_>) -> End {
        match call(attempt.handler, &batch).await {
            Ok(()) => {
                let all = Outcome { delivered: true, events: batch.events.len(), ..Outcome::default() };
                self.finish(delivery, all, attempt).await
            }
            Err(error) => self.failed(delivery, batch, error, attempt).await,
        }
    }

    /// Acks what needs nothing more. Renewal goes on beside it, so that the lease can't lapse under
    /// it.
    pub(crate) async fn finish(&self, delivery: Delivery, outcome: Outcome, attempt: &Attempt<'_>) -> End {
        let lease = delivery.receipt.lease();
        let acked = self.ack(&delivery.stream, &delivery.id, delivery.receipt).await;
        attempt.leases.stop_lease(&lease).await;
        if acked { End::Settled(outcome) } else { End::NotAcked(outcome) }
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
            visibility: self.options.visibility,
        })
    }

    async fn failed(
        &self,
        delivery: Delivery,
        batch: SubBatch,
        error: HandlerError,
        attempt: &Attempt<'_>,
    ) -> End {
        if let Some(rest) = error.busy_for() {
            attempt.leases.stop(&delivery.receipt).await;
            let (stream, id) = (delivery.stream, delivery.id);
            self.tallies.count(&stream, |tally| tally.busy += 1);
            self.give_back(&stream, &id, delivery.receipt, rest.max(BUSY_FLOOR)).await;
            return End::Again(Outcome::default());
        }
        self.tallies.count(&delivery.stream, |tally| tally.failed += 1);
        if let Some(producer) = &self.producer {
            if let Some(part) = crate::isolate::named(&batch.events, &error) {
                return self.isolate(delivery, batch, &part, &error, producer, attempt).await;
            }
            let is_last = attempt.number >= self.options.max_attempts;
            if is_last && self.options.halve && batch.events.len() > 1 {
                return self.halve(delivery, batch, error, producer, attempt).await;
            }
        }
        let event_ids = batch.events.into_iter().map(|event| event.event_id).collect();
        self.fail(delivery, event_ids, error, attempt).await
    }

    /// The whole delivery failed: back after its delay, or a dead letter.
    async fn fail(
        &self,
        delivery: Delivery,
        event_ids: Vec<String>,
        error: HandlerError,
        attempt: &Attempt<'_>,
    ) -> End {
        // Renewal stops at once: the lease's end is the latest the message comes again.
        attempt.leases.stop(&delivery.receipt).await;
        let number = attempt.number;
        if number >= self.options.max_attempts {
            return self.bury(delivery, event_ids, error.reason(), number).await;
        }
        let stream = delivery.stream.clone();
        self.tallies.count(&stream, |tally| tally.retried += 1);
        let reason = eventlane_contracts::text::dead_letter_reason(error.reason());
        tracing::info!(%stream, message_id = %delivery.id, attempt = number, %reason, "a handler failed");
        if let Some(delay) = self.options.retry_delay(number) {
            self.give_back(&stream, &delivery.id, delivery.receipt, delay).await;
        }
        End::Again(Outcome::default())
    }

    pub(crate) async fn bury(
        &self,
        delivery: Delivery,
        event_ids: Vec<String>,
        reason: &str,
        attempts: u32,
    ) -> End {
        let told = DeadLettered {
            stream: delivery.stream.clone(),
            message_id: delivery.id.clone(),
            event_ids,
            reason: eventlane_contracts::text::dead_letter_reason(reason),
            attempts,
        };
        if self.dead_letter(delivery, told).await {
            End::Settled(Outcome { dead_lettered: true, ..Outcome::default() })
        } else {
            End::Again(Outcome::default())
        }
    }
}

/// How a delivery ended.
pub(crate) enum End {
    /// Its message is gone.
    Settled(Outcome),
    /// It is done, and its message couldn't be acked.
    NotAcked(Outcome),
    /// It comes again.
    Again(Outcome),
}

/// A panic is contained: it is this delivery's failure and nobody else's. Its text may quote a
/// payload, so it goes nowhere.
pub(crate) async fn call(handler: &dyn Handler, batch: &SubBatch) -> Result<(), HandlerError> {
    // Lazily, so that a handler which panics before it has made its future is contained as well.
    let answer = AssertUnwindSafe(async { handler.handle(batch).await }).catch_unwind().await;
    answer.unwrap_or_else(|_| Err(HandlerError::new("the handler panicked")))
}

/// The receive count plus what a partial retry carried over. A redriven dead letter starts afresh.
fn number(delivery: &Delivery) -> u32 {
    let carried = match delivery.attributes.dead_lettered_us {
        Some(_) => 0,
        None => delivery.attributes.attempts.unwrap_or(0),
    };
    delivery.receive_count.saturating_add(carried)
}

//! Isolation: only the events that failed come again, or become the dead letter.
//!
//! First the part is on its way, as a message of its own or as a dead letter; then the original is
//! acked. If the first fails, the original lapses whole: twice, never lost.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use eventlane_contracts::{QueuedEvent, StreamName, body_text, event_text};
use eventlane_queue::{Attributes, Delivery, Message, Producer};
use tracing::{info, warn};

use crate::consumer::Core;
use crate::deliver::{Attempt, End, Outcome};
use crate::{DeadLettered, HandlerError, SubBatch};

/// The positions of the events that the error names, when it names some and not all.
pub(crate) fn named(events: &[QueuedEvent], error: &HandlerError) -> Option<Vec<usize>> {
    let names: BTreeSet<&str> = error.failed_events().iter().map(String::as_str).collect();
    let positions: Vec<usize> =
        (0..events.len()).filter(|&at| names.contains(events[at].event_id.as_str())).collect();
    (!positions.is_empty() && positions.len() < events.len()).then_some(positions)
}

/// These events as a message's body.
pub(crate) fn body(stream: &StreamName, events: &[QueuedEvent], positions: &[usize]) -> String {
    let text = |&at: &usize| {
        let event = &events[at];
        event_text(&event.event_id, &event.occurred_at_us, &event.identity, event.payload.get())
    };
    body_text(stream, &positions.iter().map(text).collect::<Vec<_>>())
}

/// What a part carries: where it came from and what was spent on it.
fn story(delivery: &Delivery, attempts: u32) -> Attributes {
    let own = &delivery.attributes;
    // A redriven dead letter starts afresh, its first receive too.
    let carried = own.first_received_us.filter(|_| own.dead_lettered_us.is_none());
    Attributes {
        traceparent: own.traceparent.clone(),
        attempts: Some(attempts),
        first_received_us: Some(carried.unwrap_or(delivery.first_received_us)),
        parent: Some(delivery.id.clone()),
        ..Attributes::default()
    }
}

impl Core {
    /// A handler named the events that failed.
    pub(crate) async fn isolate(
        &self,
        delivery: Delivery,
        batch: SubBatch,
        part: &[usize],
        error: &HandlerError,
        producer: &Arc<dyn Producer>,
        attempt: &Attempt<'_>,
    ) -> End {
        let events = batch.events.len() - part.len();
        let dead_lettered = attempt.number >= self.options.max_attempts;
        let sent = if dead_lettered {
            self.bury_part(&delivery, &batch.events, part, error.reason(), attempt.number).await
        } else {
            let delay = self.options.part_delay(attempt.number);
            self.send_part(&delivery, &batch.events, part, attempt.number, delay, producer).await
        };
        if !sent {
            attempt.leases.stop(&delivery.receipt).await;
            return End::Again(Outcome::default());
        }
        self.finish(delivery, Outcome { events, dead_lettered, ..Outcome::default() }, attempt).await
    }

    /// Puts a part back on its queue, to come after `delay`; says whether the queue confirmed it.
    pub(crate) async fn send_part(
        &self,
        delivery: &Delivery,
        events: &[QueuedEvent],
        part: &[usize],
        attempts: u32,
        delay: Duration,
        producer: &Arc<dyn Producer>,
    ) -> bool {
        let stream = &delivery.stream;
        let message = Message { body: body(stream, events, part), attributes: story(delivery, attempts) };
        match producer.enqueue_after(stream, &message, delay).await {
            Ok(()) => {
                self.tallies.count(stream, |tally| tally.retried += 1);
                let (failed, of) = (part.len(), events.len());
                info!(%stream, message_id = %delivery.id, attempts, failed, of, "only the failed events go back");
                true
            }
            Err(error) => {
                let tag = error.tag();
                self.tallies.count(stream, |tally| tally.unsettled += 1);
                warn!(%stream, message_id = %delivery.id, tag, "a part wasn't sent; the whole message will come again");
                false
            }
        }
    }

    /// Makes a part a dead letter, with hook and warning; says whether it worked.
    pub(crate) async fn bury_part(
        &self,
        delivery: &Delivery,
        events: &[QueuedEvent],
        part: &[usize],
        reason: &str,
        attempts: u32,
    ) -> bool {
        let stream = &delivery.stream;
        let told = DeadLettered {
            stream: stream.clone(),
            message_id: delivery.id.clone(),
            event_ids: part.iter().map(|&at| events[at].event_id.clone()).collect(),
            reason: eventlane_contracts::text::dead_letter_reason(reason),
            attempts,
        };
        let attributes = Attributes {
            reason: Some(told.reason.clone()),
            dead_lettered_us: Some(self.clock.now_us()),
            ..story(delivery, attempts)
        };
        let message = Message { body: body(stream, events, part), attributes };
        match self.queue.put_dead_letter(stream, &message).await {
            Ok(()) => {
                self.tell_dead_letter(&told);
                true
            }
            Err(error) => {
                self.tallies.count(stream, |tally| tally.unsettled += 1);
                warn!(%stream, message_id = %delivery.id, tag = error.tag(), "dead-letter failed; the message will come again");
                false
            }
        }
    }
}

//! Halving: on the last attempt a failing sub-batch is tried in halves, so that a dead letter holds
//! only the poison.
//!
//! Under the lease and the budget of the attempt. It stops and dead-letters the whole when no part
//! has succeeded after two levels: then something is down, and an outage is not poison.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use eventlane_queue::{Delivery, Producer};

use crate::consumer::Core;
use crate::deliver::{Attempt, BUSY_FLOOR, End, Outcome, call};
use crate::{HandlerError, SubBatch};

/// Levels of halves that may all fail before the whole is taken for what failed.
const LEVELS: u32 = 2;

/// What the halves have shown.
#[derive(Debug, Default)]
struct Shown {
    handled: usize,
    poison: Vec<usize>,
    /// Not tried, or not to be told yet.
    open: Vec<usize>,
    /// How long someone else may be at some of them.
    wait: Duration,
    reason: Option<String>,
}

impl Core {
    pub(crate) async fn halve(
        &self,
        delivery: Delivery,
        batch: SubBatch,
        error: HandlerError,
        producer: &Arc<dyn Producer>,
        attempt: &Attempt<'_>,
    ) -> End {
        let Some(mut shown) = try_halves(&batch, attempt).await else {
            attempt.leases.stop(&delivery.receipt).await;
            let event_ids = batch.events.into_iter().map(|event| event.event_id).collect();
            return self.bury(delivery, event_ids, error.reason(), attempt.number).await;
        };
        shown.poison.sort_unstable();
        shown.open.sort_unstable();
        let (events, max) = (&batch.events, self.options.max_attempts);
        let reason = shown.reason.as_deref().unwrap_or(error.reason());
        let sent = (shown.poison.is_empty()
            || self.bury_part(&delivery, events, &shown.poison, reason, attempt.number).await)
            // One attempt is left to what was not judged: its last, as it is now.
            && (shown.open.is_empty()
                || self.send_part(&delivery, events, &shown.open, max - 1, shown.wait, producer).await);
        if !sent {
            attempt.leases.stop(&delivery.receipt).await;
            return End::Again(Outcome::default());
        }
        let outcome = Outcome {
            delivered: shown.poison.is_empty() && shown.open.is_empty(),
            events: shown.handled,
            dead_lettered: !shown.poison.is_empty(),
            ..Outcome::default()
        };
        self.finish(delivery, outcome, attempt).await
    }
}

/// Tries halves, and halves of those that fail; `None` when it looks like an outage, or when the
/// time ended before anything succeeded.
async fn try_halves(batch: &SubBatch, attempt: &Attempt<'_>) -> Option<Shown> {
    let (mut shown, mut succeeded) = (Shown::default(), false);
    let mut parts = VecDeque::from(halves(0..batch.events.len(), 1));
    while let Some((range, level)) = parts.pop_front() {
        if level > LEVELS && !succeeded {
            return None;
        }
        if attempt.halt.is_reached() {
            shown.open.extend(range);
            shown.open.extend(parts.into_iter().flat_map(|(range, _)| range));
            break;
        }
        let part = SubBatch {
            stream: batch.stream.clone(),
            events: batch.events[range.clone()].to_vec(),
            attempt: batch.attempt,
            message_id: batch.message_id.clone(),
            visibility: batch.visibility,
        };
        let Err(error) = call(attempt.handler, &part).await else {
            succeeded = true;
            shown.handled += range.len();
            continue;
        };
        if let Some(rest) = error.busy_for() {
            shown.wait = shown.wait.max(rest.max(BUSY_FLOOR));
            shown.open.extend(range);
        } else if let Some(named) = crate::isolate::named(&part.events, &error) {
            succeeded = true;
            shown.handled += range.len() - named.len();
            shown.poison.extend(named.into_iter().map(|at| range.start + at));
            shown.reason = Some(error.reason().to_owned());
        } else if range.len() == 1 {
            shown.poison.extend(range);
            shown.reason = Some(error.reason().to_owned());
        } else {
            parts.extend(halves(range, level + 1));
        }
    }
    succeeded.then_some(shown)
}

fn halves(range: Range<usize>, level: u32) -> [(Range<usize>, u32); 2] {
    let middle = range.start + range.len() / 2;
    [(range.start..middle, level), (middle..range.end, level)]
}

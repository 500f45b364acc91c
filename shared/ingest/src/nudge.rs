//! Nudge: wakes the drain after an enqueue. Its loss is only latency.
//!
//! At most one a second leaves the process, and it is awaited for 250 ms. Streams of the quiet second
//! in between are kept and named with the next one, which is the next enqueue's: nothing runs on after
//! an answer. If none comes they wait for the schedule, unless the pass that was woken already, which
//! takes every stream until it is empty, finds them.

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use eventlane_contracts::{Clock, StreamName};
use eventlane_queue::Nudge;
use futures::FutureExt;
use tokio::time::Instant;

/// Longest wait for a nudge.
const WITHIN: Duration = Duration::from_millis(250);

/// Shortest time between two nudges of a process, in microseconds.
const QUIET_US: i64 = 1_000_000;

/// Nudges, coalesced.
pub struct Nudges {
    nudge: Arc<dyn Nudge>,
    clock: Arc<dyn Clock>,
    state: Mutex<Quiet>,
}

#[derive(Default)]
struct Quiet {
    last_us: Option<i64>,
    waiting: BTreeSet<StreamName>,
}

impl Nudges {
    /// Sends by `nudge`, at most once a second by `clock`.
    #[must_use]
    pub fn new(nudge: Arc<dyn Nudge>, clock: Arc<dyn Clock>) -> Self {
        Self { nudge, clock, state: Mutex::default() }
    }

    /// Says that these streams have something, now or with the next nudge.
    pub(crate) async fn say(&self, streams: impl IntoIterator<Item = StreamName>, answer_by: Instant) {
        let Some(streams) = self.due(streams) else { return };
        // A panic in there changes nothing either.
        let nudged = AssertUnwindSafe(self.nudge.nudge(&streams)).catch_unwind();
        let tag = match tokio::time::timeout_at(answer_by.min(Instant::now() + WITHIN), nudged).await {
            Ok(Ok(Ok(()))) => return,
            Ok(Ok(Err(error))) => error.0,
            Ok(Err(_)) => "panic".to_owned(),
            Err(_) => "timeout".to_owned(),
        };
        tracing::warn!(%tag, streams = streams.len(), "the drain was not nudged; its schedule finds the events");
    }

    /// The streams to name now; nothing in the quiet second, or when there is none.
    fn due(&self, streams: impl IntoIterator<Item = StreamName>) -> Option<Vec<StreamName>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.waiting.extend(streams);
        let now = self.clock.now_us();
        // A clock that was set back ends the quiet time.
        let is_quiet = state.last_us.is_some_and(|last| (0..QUIET_US).contains(&(now - last)));
        if is_quiet || state.waiting.is_empty() {
            return None;
        }
        state.last_us = Some(now);
        Some(std::mem::take(&mut state.waiting).into_iter().collect())
    }
}

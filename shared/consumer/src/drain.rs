//! `drain_once`: one bounded pass over all streams, for hosts that can't keep a process.
//!
//! The schedule that calls it is the delivery guarantee. Streams go side by side under one budget,
//! their long polls overlapped, so a quiet stream costs a busy one nothing; each pass begins with
//! another stream.

use std::time::Duration;

use eventlane_contracts::StreamName;
use futures::future::join_all;
use tracing::warn;

use crate::consumer::Core;
use crate::halt::Halt;
use crate::pace::Pace;
use crate::{DrainError, EventConsumer, Handler};

/// A long poll that returns nothing proves a stream empty only when it lasted this long.
pub(crate) const PROOF_OF_EMPTY: Duration = Duration::from_secs(1);

/// What a pass did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct DrainReport {
    /// Sub-batches handled.
    pub delivered: u64,
    /// Events handled.
    pub events_delivered: u64,
    /// Sub-batches dead-lettered, whole or in part.
    pub dead_lettered: u64,
    /// Whether every stream was seen empty. A spent budget or a read fault gives `false`.
    pub empty: bool,
}

impl EventConsumer {
    /// Default budget of a pass.
    pub const DEFAULT_BUDGET: Duration = Duration::from_secs(25);

    /// Drains all streams until each reads empty or the budget is spent. The budget is checked
    /// between sub-batches and overrun by one callback at most; zero reads nothing. Two processes
    /// may drain the same queues.
    ///
    /// # Errors
    /// [`DrainError::Busy`] beside another pass of this consumer, [`DrainError::Running`] beside its
    /// runner, [`DrainError::Stopped`] after [`stop`](Self::stop). A queue's fault is no error: it
    /// is logged, and the report says `empty: false`.
    ///
    /// # Cancel safety
    /// A dropped pass leaves its messages to lapse; nothing is lost.
    pub async fn drain_once(&self, budget: Duration) -> Result<DrainReport, DrainError> {
        let pass = self.begin_pass()?;
        let halt = Halt::after(budget, self.stopped());
        let core = &*self.core;
        let streams = core.streams.iter().cycle().skip(pass.first).take(core.streams.len());
        let passes = streams.map(|(stream, handler)| core.drain_stream(stream, &**handler, &halt));
        let mut total = DrainReport { empty: true, ..DrainReport::default() };
        for report in join_all(passes).await {
            total.add(report);
        }
        Ok(total)
    }
}

impl Core {
    async fn drain_stream(&self, stream: &StreamName, handler: &dyn Handler, halt: &Halt) -> DrainReport {
        let mut report = DrainReport::default();
        let mut pace = Pace::default();
        while !halt.is_reached() {
            let left = halt.left();
            let max = pace.read_ahead(left, self.options.concurrency, self.options.receive);
            // Near the end only what is there at once: a message that came after the deadline would go
            // back unstarted, at the cost of an attempt.
            let wait = if left < PROOF_OF_EMPTY { Duration::ZERO } else { PROOF_OF_EMPTY };
            match self.queue.receive(stream, max, self.options.visibility, wait).await {
                Ok(deliveries) if deliveries.is_empty() => {
                    report.empty = wait == PROOF_OF_EMPTY && !self.is_at_in_flight_cap(stream).await;
                    return report;
                }
                Ok(deliveries) => {
                    for worked in self.work(stream, handler, deliveries, halt).await {
                        pace.learn(worked.took);
                        report.count(worked.outcome);
                    }
                }
                Err(error) => {
                    self.tallies.count(stream, |tally| tally.read_faults += 1);
                    warn!(%stream, tag = error.tag(), "a stream's queue can't be read in this pass");
                    return report;
                }
            }
        }
        report
    }

    /// Whether a read found nothing because too much is in flight. A queue that can't say so is
    /// taken at its word.
    pub(crate) async fn is_at_in_flight_cap(&self, stream: &StreamName) -> bool {
        match self.queue.counts(stream).await {
            Ok(counts) if counts.is_at_in_flight_cap() => {
                let (waiting, in_flight) = (counts.waiting, counts.in_flight);
                warn!(%stream, waiting, in_flight, "a stream is not empty, its queue is at the in-flight cap");
                true
            }
            Ok(_) | Err(_) => false,
        }
    }
}

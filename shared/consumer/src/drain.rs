//! `drain_once`: one bounded pass over all streams, for hosts that can't keep a process.
//!
//! The schedule that calls it is the delivery guarantee. Streams go side by side under one budget,
//! their long polls overlapped, so a quiet stream costs a busy one nothing.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::Duration;

use eventlane_contracts::StreamName;
use eventlane_queue::Delivery;
use futures::future::{Either, join_all, select};
use tokio::time::Instant;
use tracing::warn;

use crate::deliver::Outcome;
use crate::lease::Leases;
use crate::{DrainError, EventConsumer, Handler};

/// A long poll that returns nothing proves a stream empty only when it lasted this long.
const PROOF_OF_EMPTY: Duration = Duration::from_secs(1);

/// What a pass did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct DrainReport {
    /// Sub-batches handled.
    pub delivered: u64,
    /// Events in them.
    pub events_delivered: u64,
    /// Sub-batches dead-lettered.
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
    /// [`DrainError::Busy`] beside another pass of this consumer. A queue's fault is no error: it
    /// is logged, and the report says `empty: false`.
    ///
    /// # Cancel safety
    /// A dropped pass leaves its messages to lapse; nothing is lost.
    pub async fn drain_once(&self, budget: Duration) -> Result<DrainReport, DrainError> {
        if self.draining.swap(true, Ordering::SeqCst) {
            return Err(DrainError::Busy);
        }
        let _reset = Reset(&self.draining);
        let deadline = Instant::now() + budget;
        let passes =
            self.streams.iter().map(|(stream, handler)| self.drain_stream(stream, &**handler, deadline));
        let reports = join_all(passes).await;
        let mut total = DrainReport { empty: true, ..DrainReport::default() };
        for report in reports {
            total.delivered += report.delivered;
            total.events_delivered += report.events_delivered;
            total.dead_lettered += report.dead_lettered;
            total.empty &= report.empty;
        }
        Ok(total)
    }

    async fn drain_stream(
        &self,
        stream: &StreamName,
        handler: &dyn Handler,
        deadline: Instant,
    ) -> DrainReport {
        let mut report = DrainReport::default();
        let mut pace = Pace::default();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return report;
            }
            let max = pace.read_ahead(left, self.options.concurrency, self.options.receive);
            let wait = left.min(PROOF_OF_EMPTY);
            match self.queue.receive(stream, max, self.options.visibility, wait).await {
                Ok(deliveries) if deliveries.is_empty() => {
                    report.empty = wait == PROOF_OF_EMPTY;
                    return report;
                }
                Ok(deliveries) => {
                    self.work(stream, handler, deliveries, deadline, &mut pace, &mut report).await
                }
                Err(error) => {
                    warn!(%stream, tag = error.tag(), "a stream's queue can't be read in this pass");
                    return report;
                }
            }
        }
    }

    /// Works off one read, renewing what is held; what the budget doesn't allow to start goes back.
    async fn work(
        &self,
        stream: &StreamName,
        handler: &dyn Handler,
        deliveries: Vec<Delivery>,
        deadline: Instant,
        pace: &mut Pace,
        report: &mut DrainReport,
    ) {
        let leases = Leases::hold(&*self.queue, stream, self.options.visibility, &deliveries);
        let waiting = Mutex::new(VecDeque::from(deliveries));
        let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let worker = async || {
            let mut done = Vec::new();
            while let Some(delivery) = next() {
                if Instant::now() >= deadline {
                    self.release_unstarted(stream, delivery, &leases).await;
                    continue;
                }
                let started = Instant::now();
                let outcome = self.deliver(delivery, handler, &leases).await;
                done.push((outcome, started.elapsed()));
            }
            done
        };
        let workers = join_all((0..self.options.concurrency).map(|_| worker()));
        let renewal = std::pin::pin!(leases.renew());
        let done = match select(std::pin::pin!(workers), renewal).await {
            Either::Left((done, _)) => done,
            Either::Right((never, _)) => match never {},
        };
        for (outcome, took) in done.into_iter().flatten() {
            pace.learn(took);
            match outcome {
                Outcome::Delivered(events) => {
                    report.delivered += 1;
                    report.events_delivered += events as u64;
                }
                Outcome::DeadLettered => report.dead_lettered += 1,
                Outcome::Retried => {}
            }
        }
    }
}

/// How long a callback takes here, so that no message is read that can't be started in time: a
/// release costs it an attempt.
#[derive(Debug, Default)]
struct Pace {
    slowest: Option<Duration>,
}

impl Pace {
    /// Remembers the slow ones longer than the quick ones.
    fn learn(&mut self, took: Duration) {
        let decayed = self.slowest.map_or(Duration::ZERO, |slowest| slowest * 3 / 4);
        self.slowest = Some(took.max(decayed));
    }

    /// Before anything was timed: what can be started now.
    fn read_ahead(&self, left: Duration, concurrency: usize, receive: usize) -> usize {
        let Some(slowest) = self.slowest else { return concurrency.min(receive) };
        let rounds = left.as_micros() / slowest.as_micros().max(1);
        let startable = usize::try_from(rounds).unwrap_or(usize::MAX).saturating_mul(concurrency);
        startable.clamp(concurrency.min(receive), receive)
    }
}

struct Reset<'a>(&'a std::sync::atomic::AtomicBool);

impl Drop for Reset<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read_ahead_is_what_can_be_started_in_the_time_left() {
        let second = Duration::from_secs(1);
        let mut pace = Pace::default();
        assert_eq!(pace.read_ahead(25 * second, 1, 10), 1, "nothing timed yet");
        pace.learn(second);
        assert_eq!(pace.read_ahead(25 * second, 1, 10), 10);
        assert_eq!(pace.read_ahead(3 * second, 1, 10), 3);
        assert_eq!(pace.read_ahead(second / 2, 2, 10), 2, "near the end: what can be started now");
        pace.learn(Duration::ZERO);
        assert_eq!(
            pace.read_ahead(3 * second, 1, 10),
            4,
            "a quick one doesn't make up for a slow one at once"
        );
    }
}

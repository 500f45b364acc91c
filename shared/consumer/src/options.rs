//! Tuning of the delivery, checked when the consumer is defined.

use std::time::Duration;

use eventlane_queue::MAX_DELAY;

/// How delivery goes. All streams of one consumer share it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryOptions {
    /// Messages read at once, 1 to 10 (what SQS hands out).
    pub receive: usize,
    /// Lease on a read message, 1 s to 12 h. Size it above one callback's worst case; it is renewed
    /// at half its time for as long as a message is held.
    pub visibility: Duration,
    /// Attempts before a sub-batch is dead-lettered, 1 to 100.
    pub max_attempts: u32,
    /// Callbacks at once per stream, 1 to 10.
    pub concurrency: usize,
    /// When a failed sub-batch comes again.
    pub retry: RetryPace,
    /// Whether a sub-batch that fails on its last attempt is tried in halves, so that only the
    /// poison becomes a dead letter. Needs a producer.
    pub halve: bool,
    /// A runner's wait after a poll that brought nothing, at first; 1 ms to its ceiling.
    pub poll_floor: Duration,
    /// A runner's wait between polls at most, up to an hour.
    pub poll_ceiling: Duration,
    /// What the wait grows by with each poll that brings nothing, 1 to 10.
    pub poll_factor: u32,
}

/// When a failed sub-batch comes again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryPace {
    /// After min(5 s · 2^(attempt − 1), 15 min).
    Backoff,
    /// When its lease lapses.
    Lapse,
}

impl Default for DeliveryOptions {
    fn default() -> Self {
        Self {
            receive: 10,
            visibility: Duration::from_secs(60),
            max_attempts: 5,
            concurrency: 1,
            retry: RetryPace::Backoff,
            halve: false,
            poll_floor: Duration::from_millis(250),
            poll_ceiling: Duration::from_secs(5),
            poll_factor: 2,
        }
    }
}

/// First delay of [`RetryPace::Backoff`].
const RETRY_BASE: Duration = Duration::from_secs(5);

/// Longest delay of [`RetryPace::Backoff`].
const RETRY_CEILING: Duration = Duration::from_secs(15 * 60);

impl DeliveryOptions {
    pub(crate) fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let mut bound = |name: &str, value: u128, least: u128, most: u128, unit: &str| {
            if !(least..=most).contains(&value) {
                faults.push(format!("{name} is {value}{unit}, it must be {least} to {most}{unit}"));
            }
        };
        bound("receive", self.receive as u128, 1, 10, "");
        bound("visibility", self.visibility.as_millis(), 1_000, 43_200_000, " ms");
        bound("max_attempts", u128::from(self.max_attempts), 1, 100, "");
        bound("concurrency", self.concurrency as u128, 1, 10, "");
        bound("poll_ceiling", self.poll_ceiling.as_millis(), 1, 3_600_000, " ms");
        bound("poll_floor", self.poll_floor.as_millis(), 1, self.poll_ceiling.as_millis().max(1), " ms");
        bound("poll_factor", u128::from(self.poll_factor), 1, 10, "");
        faults
    }

    /// The delay of the events that failed, as a message of their own. No lease of theirs is left to
    /// lapse, so they wait as long as one.
    pub(crate) fn part_delay(&self, attempt: u32) -> Duration {
        self.retry_delay(attempt).unwrap_or(self.visibility).min(MAX_DELAY)
    }

    /// The delay after `attempt` failed, or none to let the lease lapse.
    pub(crate) fn retry_delay(&self, attempt: u32) -> Option<Duration> {
        match self.retry {
            RetryPace::Lapse => None,
            RetryPace::Backoff => {
                // 2^8 · 5 s is past the ceiling already, so the exponent never overflows.
                let doublings = attempt.saturating_sub(1).min(8);
                Some((RETRY_BASE * 2u32.pow(doublings)).min(RETRY_CEILING))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_retry_delay_doubles_up_to_its_ceiling_and_never_overflows() {
        let options = DeliveryOptions::default();
        let seconds = |attempt| options.retry_delay(attempt).unwrap().as_secs();
        assert_eq!([0, 1, 2, 3, 8, 9, 64, u32::MAX].map(seconds), [5, 5, 10, 20, 640, 900, 900, 900]);
        let lapse = DeliveryOptions { retry: RetryPace::Lapse, ..options };
        assert_eq!(lapse.retry_delay(1), None);
        assert_eq!(lapse.part_delay(1), Duration::from_secs(60));
        let long = DeliveryOptions { visibility: Duration::from_secs(43_200), ..lapse };
        assert_eq!(long.part_delay(1), MAX_DELAY);
    }
}

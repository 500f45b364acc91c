//! Pace: how long a callback takes, and how long a runner waits between polls.

use std::time::Duration;

use crate::DeliveryOptions;

/// How long a callback takes here, so that no message is read that can't be started in time: a
/// release costs it an attempt.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    slowest: Option<Duration>,
}

impl Pace {
    /// Remembers the slow ones longer than the quick ones.
    pub(crate) fn learn(&mut self, took: Duration) {
        let decayed = self.slowest.map_or(Duration::ZERO, |slowest| slowest * 3 / 4);
        self.slowest = Some(took.max(decayed));
    }

    /// Before anything was timed: what can be started now.
    pub(crate) fn read_ahead(&self, left: Duration, concurrency: usize, receive: usize) -> usize {
        let Some(slowest) = self.slowest else { return concurrency.min(receive) };
        let rounds = left.as_micros() / slowest.as_micros().max(1);
        let startable = usize::try_from(rounds).unwrap_or(usize::MAX).saturating_mul(concurrency);
        startable.clamp(concurrency.min(receive), receive)
    }
}

/// The wait between a runner's polls: from the floor, times the factor, up to the ceiling.
#[derive(Debug)]
pub(crate) struct Idle {
    floor: Duration,
    ceiling: Duration,
    factor: u32,
    next: Duration,
}

impl Idle {
    pub(crate) fn new(options: &DeliveryOptions) -> Self {
        let (floor, ceiling, factor) = (options.poll_floor, options.poll_ceiling, options.poll_factor);
        Self { floor, ceiling, factor, next: floor }
    }

    /// The wait after a poll that brought nothing.
    pub(crate) fn wait(&mut self) -> Duration {
        let wait = self.next;
        self.next = wait.saturating_mul(self.factor).min(self.ceiling);
        wait
    }

    /// Something came.
    pub(crate) fn reset(&mut self) {
        self.next = self.floor;
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

    #[test]
    fn the_wait_between_polls_grows_to_its_ceiling_and_starts_over() {
        let mut idle = Idle::new(&DeliveryOptions::default());
        let waits: Vec<u128> = (0..7).map(|_| idle.wait().as_millis()).collect();
        assert_eq!(waits, [250, 500, 1000, 2000, 4000, 5000, 5000]);
        idle.reset();
        assert_eq!(idle.wait().as_millis(), 250);
    }
}

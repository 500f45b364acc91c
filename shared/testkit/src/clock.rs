//! A clock that stands still until a test moves it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use eventlane_contracts::Clock;

/// A [`Clock`] moved by hand; clones show the same time.
#[derive(Debug, Clone)]
pub struct ManualClock(Arc<AtomicI64>);

impl ManualClock {
    /// A clock that shows this time, in unix microseconds.
    #[must_use]
    pub fn new(now_us: i64) -> Self {
        Self(Arc::new(AtomicI64::new(now_us)))
    }

    /// Jumps to a time, in unix microseconds, forwards or back.
    pub fn set(&self, now_us: i64) {
        self.0.store(now_us, Ordering::SeqCst);
    }

    /// Moves forwards.
    pub fn advance(&self, by: Duration) {
        self.0.fetch_add(micros(by), Ordering::SeqCst);
    }

    /// Moves back, as device clocks do.
    pub fn rewind(&self, by: Duration) {
        self.0.fetch_sub(micros(by), Ordering::SeqCst);
    }
}

impl Default for ManualClock {
    /// A day in October 2025: nothing special, so that no test leans on zero.
    fn default() -> Self {
        Self::new(1_760_000_000_000_000)
    }
}

impl Clock for ManualClock {
    fn now_us(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }
}

fn micros(by: Duration) -> i64 {
    i64::try_from(by.as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_moves_both_ways_and_clones_follow() {
        let clock = ManualClock::new(1_000_000);
        let other = clock.clone();
        clock.advance(Duration::from_secs(2));
        assert_eq!(other.now_us(), 3_000_000);
        other.rewind(Duration::from_millis(500));
        assert_eq!(clock.now_us(), 2_500_000);
        clock.set(-7);
        assert_eq!(other.now_us(), -7);
    }
}

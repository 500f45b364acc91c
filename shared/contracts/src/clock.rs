//! Time comes in through the front door, so that every test is deterministic.

use std::time::{SystemTime, UNIX_EPOCH};

/// Where the lane reads the wall clock.
pub trait Clock: Send + Sync {
    /// Unix time in microseconds. May jump both ways, as device clocks do.
    fn now_us(&self) -> i64;
}

/// The machine's own clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now_us(&self) -> i64 {
        // A clock before 1970 reads as 1970; the cast holds until the year 294,247.
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
    }
}

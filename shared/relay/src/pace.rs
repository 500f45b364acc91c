//! How long to wait: after a failure, and between polls.

use std::time::Duration;

use crate::DispatchOptions;

/// Longest backoff of a failed row. Source: the contract.
pub(crate) const BACKOFF_CEILING: Duration = Duration::from_secs(300);

/// min(2^n s, 300 s) after `n` attempts.
pub(crate) fn backoff(attempts: u32) -> Duration {
    // 2^9 s is past the ceiling already, so the shift never overflows.
    Duration::from_secs(1 << attempts.min(9)).min(BACKOFF_CEILING)
}

/// The wait between polls: doubles with each poll that finds nothing, starts anew after work.
#[derive(Debug)]
pub(crate) struct Idle {
    floor: Duration,
    ceiling: Duration,
    next: Duration,
}

impl Idle {
    pub(crate) fn new(options: &DispatchOptions) -> Self {
        Self { floor: options.poll_floor, ceiling: options.poll_ceiling, next: options.poll_floor }
    }

    pub(crate) fn wait(&mut self) -> Duration {
        let wait = self.next;
        self.next = (wait * 2).min(self.ceiling);
        wait
    }

    pub(crate) fn reset(&mut self) {
        self.next = self.floor;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backoff_doubles_up_to_five_minutes_and_never_overflows() {
        let seconds = |n| backoff(n).as_secs();
        assert_eq!([1, 2, 3, 8, 9, 10, u32::MAX].map(seconds), [2, 4, 8, 256, 300, 300, 300]);
    }

    #[test]
    fn an_idle_poll_doubles_from_1_s_to_30_s_and_work_resets_it() {
        let mut idle = Idle::new(&DispatchOptions::default());
        let waits: Vec<u64> = (0..7).map(|_| idle.wait().as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 30, 30]);
        idle.reset();
        assert_eq!(idle.wait().as_secs(), 1);
    }
}

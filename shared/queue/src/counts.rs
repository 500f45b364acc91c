//! What a stream's queue holds, as an operator asks.

use std::time::Duration;

/// What a stream's queue holds. SQS's numbers are approximate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueCounts {
    /// Messages ready to be received.
    pub waiting: u64,
    /// Messages leased or held back.
    pub in_flight: u64,
    /// Dead letters.
    pub dead_letters: u64,
    /// Age of the oldest message, leased ones counted; `None` when the queue is empty, or can't say
    /// (SQS tells its metrics only: `ApproximateAgeOfOldestMessage`).
    pub oldest_age: Option<Duration>,
    /// The most messages that may be in flight; with that many a receive finds nothing, however
    /// many are waiting. `None` where there is no such cap.
    pub in_flight_cap: Option<u64>,
}

impl QueueCounts {
    /// Whether an empty receive may come from the in-flight cap and not from an empty queue.
    #[must_use]
    pub fn is_at_in_flight_cap(&self) -> bool {
        self.waiting > 0 && self.in_flight_cap.is_some_and(|cap| self.in_flight >= cap)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_flight_with_messages_waiting_is_not_an_empty_queue() {
        let counts = |waiting, in_flight, in_flight_cap| QueueCounts {
            waiting,
            in_flight,
            dead_letters: 0,
            oldest_age: None,
            in_flight_cap,
        };
        assert!(counts(1, 10, Some(10)).is_at_in_flight_cap());
        assert!(!counts(0, 10, Some(10)).is_at_in_flight_cap());
        assert!(!counts(1, 9, Some(10)).is_at_in_flight_cap());
        assert!(!counts(1, 10, None).is_at_in_flight_cap());
    }
}

//! When the driver runs a pass. Pure: times come in, in microseconds of any steady clock.
//!
//! Invariants: nudges collapse to one pass, after a linger; nothing runs while offline or suspended. Backoff is the
//! lane's own matter: a pass that comes too early for it asks, sends nothing, and costs one look-up.

#[derive(Debug)]
pub(crate) struct Schedule {
    interval_us: i64,
    linger_us: i64,
    is_online: bool,
    is_suspended: bool,
    is_wanted: bool,
    nudged_us: Option<i64>,
    next_us: i64,
}

impl Schedule {
    /// Wants a pass at once: what an earlier process left behind.
    pub(crate) fn new(interval_us: i64, linger_us: i64) -> Self {
        Self {
            interval_us,
            linger_us,
            is_online: true,
            is_suspended: false,
            is_wanted: true,
            nudged_us: None,
            next_us: 0,
        }
    }

    pub(crate) fn nudge(&mut self, now_us: i64) {
        self.nudged_us.get_or_insert(now_us);
    }

    /// Whether the network came back with this.
    pub(crate) fn set_online(&mut self, is_online: bool) -> bool {
        let came_back = is_online && !self.is_online;
        self.is_online = is_online;
        if came_back {
            self.is_wanted = true;
        }
        came_back
    }

    pub(crate) fn set_suspended(&mut self, is_suspended: bool) {
        self.is_suspended = is_suspended;
        self.is_wanted |= !is_suspended;
    }

    /// When the next pass is due; `None` while offline or suspended.
    pub(crate) fn due_us(&self) -> Option<i64> {
        if !self.is_online || self.is_suspended {
            return None;
        }
        let nudged_us = self.nudged_us.map(|at_us| at_us.saturating_add(self.linger_us));
        Some(if self.is_wanted { 0 } else { nudged_us.map_or(self.next_us, |at| at.min(self.next_us)) })
    }

    /// A pass begins: whatever asked for it is served; what comes now asks for the next.
    pub(crate) fn began(&mut self) {
        self.is_wanted = false;
        self.nudged_us = None;
    }

    /// A pass ended: `wait_us` until the next waiting row is due, or a backoff is over.
    pub(crate) fn ended(&mut self, now_us: i64, wait_us: Option<i64>) {
        // A row that is due already became so too late for this pass. Never a hot loop all the same.
        let wait_us = wait_us.map_or(self.interval_us, |wait| wait.max(self.linger_us).min(self.interval_us));
        self.next_us = now_us.saturating_add(wait_us);
    }
}

#[cfg(test)]
mod tests {
    use super::Schedule;

    const INTERVAL: i64 = 5_000_000;
    const LINGER: i64 = 250_000;

    fn ran(now_us: i64) -> Schedule {
        let mut schedule = Schedule::new(INTERVAL, LINGER);
        assert_eq!(schedule.due_us(), Some(0), "a pass at start");
        schedule.began();
        schedule.ended(now_us, None);
        schedule
    }

    #[test]
    fn nudges_collapse_and_linger_and_the_interval_is_the_fallback() {
        let mut schedule = ran(1_000);
        assert_eq!(schedule.due_us(), Some(1_000 + INTERVAL));
        schedule.nudge(2_000);
        schedule.nudge(200_000);
        assert_eq!(schedule.due_us(), Some(2_000 + LINGER), "the first of a burst counts");
        schedule.began();
        schedule.nudge(300_000);
        schedule.ended(400_000, None);
        assert_eq!(schedule.due_us(), Some(300_000 + LINGER), "one follow-up for what came meanwhile");
    }

    #[test]
    fn in_a_backoff_the_lane_is_asked_at_most_an_interval_later() {
        let mut schedule = ran(0);
        schedule.began();
        schedule.ended(0, Some(60_000_000));
        assert_eq!(schedule.due_us(), Some(INTERVAL), "another handle's clock may have ended it");
    }

    #[test]
    fn coming_back_online_while_a_request_hangs_is_not_lost() {
        let mut schedule = ran(0);
        schedule.began();
        schedule.set_online(false);
        assert!(schedule.set_online(true));
        schedule.ended(1_000, Some(60_000_000));
        assert_eq!(schedule.due_us(), Some(0));
    }

    #[test]
    fn offline_pauses_and_coming_back_runs_at_once() {
        let mut schedule = ran(0);
        assert!(!schedule.set_online(true), "it was online");
        schedule.ended(0, Some(60_000_000));
        assert!(!schedule.set_online(false));
        schedule.nudge(1_000);
        assert_eq!(schedule.due_us(), None);
        assert!(schedule.set_online(true));
        assert_eq!(schedule.due_us(), Some(0));
    }

    #[test]
    fn a_waiting_row_brings_the_next_pass_forward_but_never_to_a_hot_loop() {
        let mut schedule = ran(0);
        schedule.ended(0, Some(1_000_000));
        assert_eq!(schedule.due_us(), Some(1_000_000));
        schedule.ended(0, Some(0));
        assert_eq!(schedule.due_us(), Some(LINGER));
        schedule.ended(0, Some(100_000_000));
        assert_eq!(schedule.due_us(), Some(INTERVAL));
    }
}

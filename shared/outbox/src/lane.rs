//! The lane's own pace: its backoff, a server's `Retry-After`, and how much it may send at once.

use eventlane_contracts::limits::BATCH_EVENTS;
use rusqlite::Connection;

use crate::backoff::Backoff;
use crate::retry_after::RETRY_AFTER_MAX_US;
use crate::schema;

/// In `eventlane_meta`: nothing is sent before, whatever restarts meanwhile.
const RETRY_AFTER_KEY: &str = "retry_after_until_us";

/// Until when the server asked for a rest, if that still runs. A time further ahead than it can have
/// been set is a clock's jump, and counts as over.
pub(crate) fn retry_after_until_us(connection: &Connection, now_us: i64) -> rusqlite::Result<Option<i64>> {
    let until_us = schema::get(connection, RETRY_AFTER_KEY)?;
    Ok(until_us.filter(|until_us| (1..=RETRY_AFTER_MAX_US).contains(&until_us.saturating_sub(now_us))))
}

/// Backoff of the lane. Its own part lives as long as the process, the server's is stored.
#[derive(Debug, Default)]
pub(crate) struct Lane {
    failures: i64,
    until_us: Option<i64>,
}

impl Lane {
    /// Microseconds until something may be sent again. A time further ahead than it can have been
    /// set is a clock's jump, and counts as over.
    pub(crate) fn wait_us(
        &mut self,
        connection: &Connection,
        now_us: i64,
        backoff: Backoff,
    ) -> rusqlite::Result<Option<i64>> {
        let rest = |until_us: Option<i64>, longest_us: i64| {
            let rest_us = until_us?.saturating_sub(now_us);
            (rest_us > 0 && rest_us <= longest_us).then_some(rest_us)
        };
        let own = rest(self.until_us, backoff.ceiling_us);
        let servers = rest(schema::get(connection, RETRY_AFTER_KEY)?, RETRY_AFTER_MAX_US);
        Ok(own.max(servers))
    }

    /// One more failure in a row; microseconds to wait.
    pub(crate) fn fail(
        &mut self,
        connection: &Connection,
        now_us: i64,
        own_us: impl FnOnce(i64) -> i64,
        retry_after_us: Option<i64>,
    ) -> rusqlite::Result<i64> {
        self.failures = self.failures.saturating_add(1);
        let own_us = own_us(self.failures);
        self.until_us = Some(now_us.saturating_add(own_us));
        match retry_after_us {
            Some(servers_us) if servers_us > own_us => {
                schema::set(connection, RETRY_AFTER_KEY, now_us.saturating_add(servers_us))?;
                Ok(servers_us)
            }
            _ => {
                // An older word was kept to before this request; a clock set back must not revive it.
                if schema::get(connection, RETRY_AFTER_KEY)?.is_some() {
                    schema::remove(connection, RETRY_AFTER_KEY)?;
                }
                Ok(own_us)
            }
        }
    }

    /// An answer came; whether that ended a backoff.
    pub(crate) fn succeed(&mut self, connection: &Connection) -> rusqlite::Result<bool> {
        let was_failing = std::mem::take(self).failures > 0;
        let was_told = schema::get(connection, RETRY_AFTER_KEY)?.is_some();
        if was_told {
            schema::remove(connection, RETRY_AFTER_KEY)?;
        }
        Ok(was_failing || was_told)
    }

    /// The network is back: the lane's own backoff is over, a server's word stands.
    pub(crate) fn online(&mut self) {
        self.until_us = None;
    }
}

/// A pause that grows each time it begins.
#[derive(Debug, Default)]
pub(crate) struct Rest {
    times: i64,
    until_us: Option<i64>,
}

impl Rest {
    pub(crate) fn begin(&mut self, now_us: i64, backoff: Backoff, random: f64) {
        self.times = self.times.saturating_add(1);
        self.until_us = Some(now_us.saturating_add(backoff.delay_us(self.times, random)));
    }

    /// Its end, if it still runs; a clock that jumped back doesn't prolong it.
    pub(crate) fn until_us(&self, now_us: i64, backoff: Backoff) -> Option<i64> {
        self.until_us.filter(|until_us| (1..=backoff.ceiling_us).contains(&until_us.saturating_sub(now_us)))
    }

    pub(crate) fn runs(&self, now_us: i64, backoff: Backoff) -> bool {
        self.until_us(now_us, backoff).is_some()
    }
}

/// Successes after which a learnt ceiling doubles back.
const SUCCESSES_TO_DOUBLE: u32 = 10;

/// Bytes from which a batch that fails again and again is suspected of its size.
const BIG_BODY_BYTES: usize = 1_000_000;

/// Failures of such batches before they are halved once.
const BIG_FAULTS: u32 = 3;

/// What the road was found to carry: somewhere a proxy has a limit of its own.
#[derive(Debug, Default)]
pub(crate) struct Ceiling {
    events: Option<usize>,
    successes: u32,
    big_faults: u32,
}

impl Ceiling {
    pub(crate) fn cap(&self, batch_size: usize) -> usize {
        self.events.map_or(batch_size, |events| events.min(batch_size))
    }

    /// So many events were too many (413).
    pub(crate) fn too_large(&mut self, events: usize) {
        *self = Self { events: Some((events / 2).max(1)), ..Self::default() };
    }

    pub(crate) fn succeeded(&mut self) {
        self.big_faults = 0;
        let Some(events) = self.events else { return };
        self.successes += 1;
        if self.successes >= SUCCESSES_TO_DOUBLE {
            let doubled = events.saturating_mul(2);
            *self = Self { events: (doubled < BATCH_EVENTS).then_some(doubled), ..Self::default() };
        }
    }

    /// A retryable fault: some roads drop what is too large for them without a word.
    pub(crate) fn failed(&mut self, events: usize, body_bytes: usize) {
        if body_bytes <= BIG_BODY_BYTES {
            return;
        }
        self.big_faults += 1;
        if self.big_faults >= BIG_FAULTS {
            self.too_large(events);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_learnt_ceiling_halves_what_was_sent_and_doubles_back_after_ten_successes() {
        let mut ceiling = Ceiling::default();
        ceiling.too_large(20);
        assert_eq!(ceiling.cap(50), 10, "half of what was sent, not of the tuning");
        (0..9).for_each(|_| ceiling.succeeded());
        assert_eq!(ceiling.cap(50), 10);
        ceiling.succeeded();
        assert_eq!(ceiling.cap(50), 20);
        (0..20).for_each(|_| ceiling.succeeded());
        assert_eq!(ceiling.cap(50), 50);
        ceiling.too_large(1);
        assert_eq!(ceiling.cap(50), 1, "one event always rides");
    }

    #[test]
    fn three_faults_of_big_batches_halve_once() {
        let mut ceiling = Ceiling::default();
        (0..9).for_each(|_| ceiling.failed(200, BIG_BODY_BYTES));
        (0..2).for_each(|_| ceiling.failed(200, BIG_BODY_BYTES + 1));
        assert_eq!(ceiling.cap(200), 200);
        ceiling.failed(200, BIG_BODY_BYTES + 1);
        assert_eq!(ceiling.cap(200), 100);
    }
}

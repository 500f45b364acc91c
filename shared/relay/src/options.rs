//! Tuning of a dispatcher, checked when it is made.

use std::time::Duration;

use crate::OptionsError;

/// How a dispatcher goes about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DispatchOptions {
    /// Rows claimed at once, 1 to 1000.
    pub batch: u32,
    /// How long a claimed row is this dispatcher's, 1 s to 1 h. Renewed while a batch runs.
    pub lease: Duration,
    /// Attempts before a row is dead, 1 to 1000.
    pub max_attempts: u32,
    /// Longest publish of one row, 1 ms to 1 h; the lease is renewed under it.
    pub publish_timeout: Duration,
    /// Longest wait for one statement of the database, 1 s to 10 min. A lock wait may be longer than
    /// the lease: the lease is then renewed before the row is published.
    pub database_timeout: Duration,
    /// The wait after a poll that found nothing, at first; 1 ms to its ceiling.
    pub poll_floor: Duration,
    /// The wait between polls at most, up to 1 h. A wake-up cuts it short where there is one.
    pub poll_ceiling: Duration,
    /// How long delivered rows stay, whole seconds up to 10 years; none keeps them for ever.
    pub retention: Option<Duration>,
}

impl Default for DispatchOptions {
    fn default() -> Self {
        Self {
            batch: 100,
            lease: Duration::from_secs(30),
            max_attempts: 10,
            publish_timeout: Duration::from_secs(20),
            database_timeout: Duration::from_secs(60),
            poll_floor: Duration::from_secs(1),
            poll_ceiling: Duration::from_secs(30),
            retention: Some(Duration::from_secs(7 * 86_400)),
        }
    }
}

impl DispatchOptions {
    /// # Errors
    /// [`OptionsError`] with every offender.
    pub(crate) fn check(&self) -> Result<(), OptionsError> {
        let mut faults = Vec::new();
        let mut bound = |name: &str, value: u128, least: u128, most: u128, unit: &str| {
            if !(least..=most).contains(&value) {
                faults.push(format!("{name} is {value}{unit}, it must be {least} to {most}{unit}"));
            }
        };
        bound("batch", self.batch.into(), 1, 1000, "");
        bound("lease", self.lease.as_millis(), 1_000, 3_600_000, " ms");
        bound("max_attempts", self.max_attempts.into(), 1, 1000, "");
        bound("publish_timeout", self.publish_timeout.as_millis(), 1, 3_600_000, " ms");
        bound("database_timeout", self.database_timeout.as_millis(), 1_000, 600_000, " ms");
        bound("poll_ceiling", self.poll_ceiling.as_millis(), 1, 3_600_000, " ms");
        bound("poll_floor", self.poll_floor.as_millis(), 1, self.poll_ceiling.as_millis().max(1), " ms");
        if let Some(retention) = self.retention {
            bound("retention", retention.as_secs().into(), 0, 10 * 365 * 86_400, " s");
        }
        if faults.is_empty() { Ok(()) } else { Err(OptionsError(faults)) }
    }
}

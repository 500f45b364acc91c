//! How an outbox stores: durability, the acked ledger, accounts, the clock.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use eventlane_contracts::{Clock, SystemClock};

use crate::bounds::Bounds;

/// What a returned append survives. A declared choice, never an accident of defaults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// Power loss: one fsync a commit (`synchronous=FULL`; on Apple also `fullfsync`).
    #[default]
    Full,
    /// The death of the process, not of the machine (`synchronous=NORMAL`).
    Normal,
}

/// How an outbox is opened. Start from `OutboxOptions::default()`.
#[derive(Clone)]
pub struct OutboxOptions {
    /// What a returned append survives. Default [`Durability::Full`].
    pub durability: Durability,
    /// How long an acked row stays as a stamped ledger row. Default 0: deleted at once.
    pub acked_retention: Duration,
    /// The most that may be pending. Default: unbounded.
    pub bounds: Bounds,
    /// The account signed in, written on every appended row until
    /// [`set_account`](crate::Outbox::set_account) names another. Default `None`: an app without
    /// accounts.
    pub account: Option<String>,
    /// Where times come from. Default the machine's clock.
    pub clock: Arc<dyn Clock>,
    /// Seeds event ids and jitter, for tests. Default `None`: the operating system's randomness.
    pub seed: Option<u64>,
}

impl Default for OutboxOptions {
    fn default() -> Self {
        Self {
            durability: Durability::default(),
            acked_retention: Duration::ZERO,
            bounds: Bounds::default(),
            account: None,
            clock: Arc::new(SystemClock),
            seed: None,
        }
    }
}

impl fmt::Debug for OutboxOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutboxOptions")
            .field("durability", &self.durability)
            .field("acked_retention", &self.acked_retention)
            .field("bounds", &self.bounds)
            .finish_non_exhaustive()
    }
}

/// A duration in microseconds; what doesn't fit is for ever.
pub(crate) fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

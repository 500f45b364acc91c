//! What a pass did, and what the outbox holds.

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use serde::Serialize;

/// What a pass did, in rows.
///
/// `claimed` = `delivered` + `failed` + `lost` + `released`, unless the database failed a mark.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct RunReport {
    /// Won by the claim.
    pub claimed: u64,
    /// Published and marked so.
    pub delivered: u64,
    /// Not published; the dead ones included.
    pub failed: u64,
    /// Given up: attempts spent, hopeless, or malformed.
    pub dead: u64,
    /// Another dispatcher's by the time of a mark; whatever this one did, it changed nothing there.
    pub lost: u64,
    /// Given back unstarted: the pass was over, or the other side is down.
    pub released: u64,
    /// Delivered rows deleted after their retention.
    pub purged: u64,
}

impl RunReport {
    pub(crate) fn add(&mut self, other: &Self) {
        self.claimed += other.claimed;
        self.delivered += other.delivered;
        self.failed += other.failed;
        self.dead += other.dead;
        self.lost += other.lost;
        self.released += other.released;
        self.purged += other.purged;
    }
}

/// What to watch. The age of the oldest pending row says more than a process that is alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RelayMetrics {
    /// Rows to be published, those in backoff included.
    pub pending: u64,
    /// How long the oldest of them has waited, by the database's clock; none without any.
    pub oldest_pending_age: Option<Duration>,
    /// Rows given up.
    pub dead: u64,
    /// Publishes that succeeded, by this dispatcher since it was made.
    pub published: u64,
    /// Publishes that failed, by this dispatcher.
    pub failed: u64,
    /// Rows lost to another dispatcher.
    pub lost: u64,
}

/// Hears the metrics.
pub type MetricsHook = dyn Fn(&RelayMetrics) + Send + Sync;

#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) published: AtomicU64,
    pub(crate) failed: AtomicU64,
    pub(crate) lost: AtomicU64,
}

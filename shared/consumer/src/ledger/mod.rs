//! The idempotency ledger: which events are being handled, and which are done.
//!
//! A mark belongs to a stream, an event id and an identity. It is in progress, owned and with an
//! expiry no later than the lease of the message it was made for, or done, for as long as duplicates
//! may come. An expired mark is absent, whatever a table still shows. There is no mark for a failure
//! or a dead letter: a retry and a redrive run again.

mod deduplicated;
mod sqlite;

use std::time::Duration;

use async_trait::async_trait;
use eventlane_contracts::{QueuedEvent, StreamName};

pub use deduplicated::{DONE_FOR, Deduplicated};
pub use sqlite::SqliteLedger;

/// Keeps marks of events.
#[async_trait]
pub trait Ledger: Send + Sync {
    /// Marks events as in progress for `lease`, unless they are marked already: one claim an event,
    /// in order. Two events with one key are claimed once, the second as `Ours` too.
    ///
    /// # Errors
    /// [`LedgerError`] when a mark isn't known to be made; some may be.
    async fn begin(
        &self,
        stream: &StreamName,
        events: &[QueuedEvent],
        owner: &str,
        lease: Duration,
    ) -> Result<Vec<Claim>, LedgerError>;

    /// Lets this owner's in-progress marks last `lease` from now; says whether all are still its
    /// own.
    ///
    /// # Errors
    /// [`LedgerError`] when a mark isn't known to be renewed.
    async fn renew(
        &self,
        stream: &StreamName,
        events: &[QueuedEvent],
        owner: &str,
        lease: Duration,
    ) -> Result<bool, LedgerError>;

    /// Turns this owner's marks into done ones that last for `keep`.
    ///
    /// # Errors
    /// [`LedgerError`] when a mark isn't known to be made.
    async fn finish(
        &self,
        stream: &StreamName,
        events: &[QueuedEvent],
        owner: &str,
        keep: Duration,
    ) -> Result<(), LedgerError>;

    /// Takes back this owner's in-progress marks, so that a retry finds nothing in its way.
    ///
    /// # Errors
    /// [`LedgerError`] when a mark isn't known to be gone; it expires.
    async fn forget(
        &self,
        stream: &StreamName,
        events: &[QueuedEvent],
        owner: &str,
    ) -> Result<(), LedgerError>;
}

/// What a mark says to someone who wants to handle the event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// It is the caller's to handle.
    Ours,
    /// It was handled.
    Done,
    /// Someone else is at it, for at most this long.
    Busy(Duration),
}

/// Why a ledger failed. Carries no payload.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the ledger can't mark ({0})")]
pub struct LedgerError(pub String);

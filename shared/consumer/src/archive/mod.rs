//! The archive: where the shipped handler keeps events, first write wins.

mod erase;
mod sqlite;

use async_trait::async_trait;
use eventlane_contracts::{QueuedEvent, StreamName};

pub use erase::{EraseIdentity, Erased};
pub use sqlite::SqliteArchive;

/// Keeps events, keyed by stream, event id and identity, so that a repeated delivery changes
/// nothing and nobody can overwrite another's event by guessing its id.
#[async_trait]
pub trait Archive: Send + Sync {
    /// Stores a sub-batch; the same event again is a duplicate, the same key with another payload a
    /// conflict that keeps the first.
    ///
    /// # Errors
    /// [`ArchiveError`] when an event isn't known to be stored; storing again is safe.
    async fn store(&self, stream: &StreamName, events: &[QueuedEvent]) -> Result<Stored, ArchiveError>;
}

/// What a store did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stored {
    /// Events that weren't there.
    pub new: usize,
    /// Events that were there already, the same.
    pub duplicates: usize,
    /// Events whose key was there with another payload.
    pub conflicts: usize,
}

/// Why a store failed. Carries no payload.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the archive can't store ({0})")]
pub struct ArchiveError(pub String);

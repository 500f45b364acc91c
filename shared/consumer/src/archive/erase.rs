//! Erasing one identity: what a person may ask for, and the only way events leave an archive.

use std::collections::BTreeMap;

use async_trait::async_trait;
use eventlane_contracts::StreamName;

use super::{Archive, ArchiveError};

/// An archive that can erase one identity.
#[async_trait]
pub trait EraseIdentity: Archive {
    /// Looks through these streams for events whose identity has all of these fields with these
    /// values, and deletes them when `act` says so. Safe to run again; what arrives meanwhile may be
    /// missed, so it is run again once nothing of that identity is on its way.
    ///
    /// # Errors
    /// [`ArchiveError`] when no field is named, or a part can't be read or deleted; what was deleted
    /// stays so.
    async fn erase(
        &self,
        streams: &[StreamName],
        identity: &BTreeMap<String, String>,
        act: bool,
    ) -> Result<Erased, ArchiveError>;
}

/// What an erasure did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Erased {
    /// Events of that identity.
    pub found: u64,
    /// Those that were deleted: all of them, or none in a dry run.
    pub erased: u64,
}

//! What may be appended now: consent, and the optional bounds of what is pending.
//!
//! Both are looked up inside the transaction that appends, so that they hold over all processes.

use rusqlite::Connection;

use crate::count::{self, Pending};
use crate::error::AppendError;
use crate::schema;

/// In `eventlane_meta`: 1 while the user's consent is withdrawn.
pub(crate) const WITHDRAWN_KEY: &str = "consent_withdrawn";

/// The most that may be pending. At a bound `append` fails with [`AppendError::Full`]; nothing is
/// ever dropped to make room. Unbounded by default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bounds {
    /// Rows pending a verdict.
    pub rows: Option<u64>,
    /// Bytes of their payloads.
    pub payload_bytes: Option<u64>,
}

/// A bound of [`Bounds`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// [`Bounds::rows`].
    Rows,
    /// [`Bounds::payload_bytes`].
    PayloadBytes,
}

impl std::fmt::Display for Bound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Rows => "rows",
            Self::PayloadBytes => "payload bytes",
        })
    }
}

/// Rows that an append under a bound walks before it counts them: to write the counters costs as much.
const MOST_BEHIND: u64 = 16;

/// Lets rows in one after the other, as long as there is room.
pub(crate) struct Admission {
    bounds: Bounds,
    is_withdrawn: bool,
    rows: u64,
    payload_bytes: u64,
}

impl Admission {
    /// What the connection sees. Only reads.
    pub(crate) fn look(connection: &Connection, bounds: Bounds) -> rusqlite::Result<Self> {
        Self::with(connection, bounds, count::pending)
    }

    /// What the transaction on this connection sees, which is about to write.
    pub(crate) fn read(connection: &Connection, bounds: Bounds) -> rusqlite::Result<Self> {
        Self::with(connection, bounds, |connection| count::pending_counted_on(connection, MOST_BEHIND))
    }

    fn with(
        connection: &Connection,
        bounds: Bounds,
        pending: impl FnOnce(&Connection) -> rusqlite::Result<Pending>,
    ) -> rusqlite::Result<Self> {
        let is_withdrawn = is_withdrawn(connection)?;
        let pending = if bounds == Bounds::default() { Pending::default() } else { pending(connection)? };
        Ok(Self { bounds, is_withdrawn, rows: pending.rows, payload_bytes: pending.payload_bytes })
    }

    /// Counts one more row in, or says what stands against it.
    pub(crate) fn admit(&mut self, payload: &str) -> Result<(), AppendError> {
        if self.is_withdrawn {
            return Err(AppendError::ConsentWithdrawn);
        }
        let rows = self.rows.saturating_add(1);
        let payload_bytes = self.payload_bytes.saturating_add(payload.len() as u64);
        for (bound, limit, pending, wanted) in [
            (Bound::Rows, self.bounds.rows, self.rows, rows),
            (Bound::PayloadBytes, self.bounds.payload_bytes, self.payload_bytes, payload_bytes),
        ] {
            if let Some(limit) = limit.filter(|limit| wanted > *limit) {
                return Err(AppendError::Full { bound, limit, pending });
            }
        }
        (self.rows, self.payload_bytes) = (rows, payload_bytes);
        Ok(())
    }
}

/// Whether consent is withdrawn.
pub(crate) fn is_withdrawn(connection: &Connection) -> rusqlite::Result<bool> {
    Ok(schema::get(connection, WITHDRAWN_KEY)?.is_some_and(|value| value != 0))
}

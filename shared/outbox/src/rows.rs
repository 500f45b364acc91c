//! Reading: the columns, a row, and queries for views. Public contract, read-only.
//!
//! A best-guess view shows what the server will say once it has caught up: pending rows, and acked
//! ones that its consumer has not folded into what the app syncs down. [`BEST_GUESS_SQL`] makes that
//! a view; it needs an `acked_retention` longer than the way down.

use std::fmt;

use rusqlite::{OptionalExtension, Row};

use crate::error::FlushError;
use crate::outbox::Outbox;

/// Names of the columns of `eventlane_outbox`.
pub mod column {
    /// Local order; never given twice, never sent.
    pub const SEQ: &str = "seq";
    /// The event's id.
    pub const EVENT_ID: &str = "event_id";
    /// The stream's name.
    pub const STREAM: &str = "stream";
    /// When it happened, unix microseconds.
    pub const OCCURRED_AT_US: &str = "occurred_at_us";
    /// JSON text, exactly the caller's value.
    pub const PAYLOAD: &str = "payload";
    /// When it was stored, unix microseconds.
    pub const ENQUEUED_AT_US: &str = "enqueued_at_us";
    /// Times it came back without a terminal verdict.
    pub const ATTEMPT_COUNT: &str = "attempt_count";
    /// Not before; NULL means now.
    pub const NEXT_RETRY_AT_US: &str = "next_retry_at_us";
    /// Why it came back.
    pub const LAST_REASON: &str = "last_reason";
    /// When it was acked; NULL means pending.
    pub const ACKED_AT_US: &str = "acked_at_us";
    /// Whose it is; NULL in an app without accounts, `''` when appended signed out.
    pub const ACCOUNT: &str = "account";
}

/// All columns, in the order [`OutboxRow::read`] takes them; add a WHERE and an ORDER BY.
pub const ROWS_SQL: &str = "SELECT seq, event_id, stream, occurred_at_us, payload, enqueued_at_us, \
     attempt_count, next_retry_at_us, last_reason, acked_at_us, account FROM eventlane_outbox";

/// Creates the best-guess view, on the app's own connection to the file.
///
/// `eventlane_unfolded` has every pending row, and every acked one whose stream has not been folded
/// up to its ack. The app notes in `eventlane_folded` how far (unix microseconds) the aggregate that it
/// synced down has folded a stream. An ack's time is the device's own, so a stamp from the server
/// wants a margin for the clocks' difference.
pub const BEST_GUESS_SQL: &str = "
CREATE TABLE IF NOT EXISTS eventlane_folded (
    stream     TEXT PRIMARY KEY,
    through_us INTEGER NOT NULL
) WITHOUT ROWID;
CREATE VIEW IF NOT EXISTS eventlane_unfolded AS
    SELECT o.seq, o.event_id, o.stream, o.occurred_at_us, o.payload, o.account, o.acked_at_us
    FROM eventlane_outbox AS o
    LEFT JOIN eventlane_folded AS f ON f.stream = o.stream
    WHERE o.acked_at_us IS NULL OR f.through_us IS NULL OR o.acked_at_us > f.through_us;
";

/// A row of `eventlane_outbox`.
#[derive(Clone, PartialEq, Eq)]
pub struct OutboxRow {
    /// Local order; never given twice, never sent.
    pub seq: i64,
    /// The event's id.
    pub event_id: String,
    /// The stream's name.
    pub stream: String,
    /// When it happened, unix microseconds.
    pub occurred_at_us: i64,
    /// JSON text, exactly the caller's value.
    pub payload: String,
    /// When it was stored, unix microseconds.
    pub enqueued_at_us: i64,
    /// Times it came back without a terminal verdict.
    pub attempt_count: i64,
    /// Not before, unix microseconds; `None` means now.
    pub next_retry_at_us: Option<i64>,
    /// Why it came back.
    pub last_reason: Option<String>,
    /// When it was acked, unix microseconds; `None` means pending.
    pub acked_at_us: Option<i64>,
    /// Whose it is; `None` in an app without accounts, empty when appended signed out.
    pub account: Option<String>,
}

impl OutboxRow {
    /// Reads a row of [`ROWS_SQL`].
    ///
    /// # Errors
    /// rusqlite's, when a column is missing or another writer stored another type.
    pub fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            seq: row.get(column::SEQ)?,
            event_id: row.get(column::EVENT_ID)?,
            stream: row.get(column::STREAM)?,
            occurred_at_us: row.get(column::OCCURRED_AT_US)?,
            payload: row.get(column::PAYLOAD)?,
            enqueued_at_us: row.get(column::ENQUEUED_AT_US)?,
            attempt_count: row.get(column::ATTEMPT_COUNT)?,
            next_retry_at_us: row.get(column::NEXT_RETRY_AT_US)?,
            last_reason: row.get(column::LAST_REASON)?,
            acked_at_us: row.get(column::ACKED_AT_US)?,
            account: row.get(column::ACCOUNT)?,
        })
    }

    /// Whether it still waits for a terminal verdict.
    #[must_use]
    pub fn is_pending(&self) -> bool {
        self.acked_at_us.is_none()
    }
}

impl fmt::Debug for OutboxRow {
    /// Never shows the payload or whose it is.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutboxRow")
            .field("seq", &self.seq)
            .field("event_id", &self.event_id)
            .field("stream", &self.stream)
            .field("attempt_count", &self.attempt_count)
            .field("next_retry_at_us", &self.next_retry_at_us)
            .field("acked_at_us", &self.acked_at_us)
            .finish_non_exhaustive()
    }
}

impl Outbox {
    /// One row, pending or of the acked ledger.
    ///
    /// # Errors
    /// [`FlushError::Store`] when the outbox can't be read.
    pub fn row_of(&self, event_id: &str) -> Result<Option<OutboxRow>, FlushError> {
        let sql = format!("{ROWS_SQL} WHERE event_id = ?1");
        let writer = self.inner.writer();
        let mut statement = writer.prepare_cached(&sql)?;
        Ok(statement.query_row([event_id], OutboxRow::read).optional()?)
    }

    /// Up to `limit` rows after `seq` (0 for the first), in order: page through with the last `seq`.
    ///
    /// # Errors
    /// [`FlushError::Store`] when the outbox can't be read.
    pub fn rows_after(&self, seq: i64, limit: usize) -> Result<Vec<OutboxRow>, FlushError> {
        let sql = format!("{ROWS_SQL} WHERE seq > ?1 ORDER BY seq LIMIT ?2");
        let writer = self.inner.writer();
        let mut statement = writer.prepare_cached(&sql)?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows = statement.query_map((seq, limit), OutboxRow::read)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

//! How much is pending, without a walk through the backlog and without a price for each append.
//!
//! Invariant: `pending_rows` and `pending_bytes` hold for the pending rows up to `counted_seq`, in every
//! committed state. AUTOINCREMENT gives later rows higher numbers, so an append changes nothing of it,
//! whoever appends; triggers take out what is settled. Whoever asks adds the rows behind. Where there are
//! many, a pass, an append under a bound and a question to a file of our own move `counted_seq` on.

use rusqlite::{Connection, TransactionBehavior};

use crate::schema::{COUNTED_SEQ_KEY, PENDING_BYTES_KEY, PENDING_ROWS_KEY, set};

/// Rows pending a verdict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Pending {
    pub(crate) rows: u64,
    pub(crate) payload_bytes: u64,
    /// Rows behind `counted_seq` among them.
    behind: u64,
}

/// What the connection sees now. Only reads: an app may ask inside a transaction of its own.
pub(crate) fn pending(connection: &Connection) -> rusqlite::Result<Pending> {
    connection.prepare_cached(PENDING)?.query_row([], |row| {
        Ok(Pending { rows: row.get(0)?, payload_bytes: row.get(1)?, behind: row.get(2)? })
    })
}

/// The same inside of a transaction that writes: counts on when `most` rows or more are behind.
pub(crate) fn pending_counted_on(connection: &Connection, most: u64) -> rusqlite::Result<Pending> {
    let found = pending(connection)?;
    if found.behind >= most {
        let last = "SELECT coalesce(max(seq), 0) FROM eventlane_outbox";
        let last: i64 = connection.prepare_cached(last)?.query_row([], |row| row.get(0))?;
        set(connection, COUNTED_SEQ_KEY, last)?;
        set(connection, PENDING_ROWS_KEY, i64::try_from(found.rows).unwrap_or(i64::MAX))?;
        set(connection, PENDING_BYTES_KEY, i64::try_from(found.payload_bytes).unwrap_or(i64::MAX))?;
    }
    Ok(found)
}

/// Rows that a question may walk again and again.
const MOST_BEHIND: u64 = 1000;

/// What the connection sees now; counts on when there is much behind. What can't be written then (a full
/// disk, a lock held for long) only makes the next question's walk longer.
pub(crate) fn pending_and_count_on(connection: &mut Connection) -> rusqlite::Result<Pending> {
    let found = pending(connection)?;
    if found.behind >= MOST_BEHIND
        && let Ok(transaction) = connection.transaction_with_behavior(TransactionBehavior::Immediate)
        && pending_counted_on(&transaction, MOST_BEHIND).is_ok()
    {
        drop(transaction.commit());
    }
    Ok(found)
}

/// Counters that are missing count nothing: then every row is behind.
const PENDING: &str = "\
    WITH counted (rows, bytes, seq) AS (
        SELECT coalesce(max(value) FILTER (WHERE key = 'pending_rows'), 0),
            coalesce(max(value) FILTER (WHERE key = 'pending_bytes'), 0),
            coalesce(max(value) FILTER (WHERE key = 'counted_seq'), 0)
        FROM eventlane_meta
    ), behind (rows, bytes) AS (
        SELECT count(*), coalesce(sum(length(CAST(payload AS BLOB))), 0) FROM eventlane_outbox
        WHERE seq > (SELECT seq FROM counted) AND acked_at_us IS NULL
    )
    SELECT counted.rows + behind.rows, counted.bytes + behind.bytes, behind.rows FROM counted, behind";

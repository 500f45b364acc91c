//! Writes down what became of posted rows, in one transaction a batch.
//!
//! Invariants: rows are named by `event_id`, one statement each (no list of bound ids, whose length
//! SQLite limits); a stamped row is never touched again; a settle that comes late hits its own row
//! or none.

use rusqlite::{Connection, TransactionBehavior};

use crate::schema::PARKED;

/// Rows that one sweep deletes in one transaction.
const SWEEP_ROWS: i64 = 1000;

/// What becomes of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Terminal: gone.
    Delete,
    /// Acked, kept as a ledger row.
    Stamp,
    /// Still owed: another attempt counted, due at that time.
    Keep { due_us: i64, reason: String },
    /// Still owed, but never again in a batch with rows that are not parked.
    Park { due_us: i64, reason: String },
}

pub(crate) fn settle<'a>(
    connection: &mut Connection,
    fates: impl IntoIterator<Item = (&'a str, Fate)>,
    now_us: i64,
) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    {
        let mut delete = transaction
            .prepare_cached("DELETE FROM eventlane_outbox WHERE event_id = ?1 AND acked_at_us IS NULL")?;
        let mut stamp = transaction.prepare_cached(
            "UPDATE eventlane_outbox SET acked_at_us = ?2, next_retry_at_us = NULL \
             WHERE event_id = ?1 AND acked_at_us IS NULL",
        )?;
        let mut keep = transaction.prepare_cached(
            "UPDATE eventlane_outbox SET attempt_count = attempt_count + 1, next_retry_at_us = ?2, \
                 last_reason = ?3 \
             WHERE event_id = ?1 AND acked_at_us IS NULL",
        )?;
        for (event_id, fate) in fates {
            match fate {
                Fate::Delete => delete.execute([event_id])?,
                Fate::Stamp => stamp.execute((event_id, now_us))?,
                Fate::Keep { due_us, reason } => keep.execute((event_id, due_us, unparked(reason)))?,
                Fate::Park { due_us, reason } => {
                    keep.execute((event_id, due_us, format!("{PARKED}{reason}")))?
                }
            };
        }
    }
    transaction.commit()
}

/// Parks rows by number, for such as can't be named otherwise.
pub(crate) fn settle_by_seq(connection: &mut Connection, fates: Vec<(i64, Fate)>) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for (seq, fate) in fates {
        let (Fate::Park { due_us, reason } | Fate::Keep { due_us, reason }) = fate else { continue };
        let mut park = transaction.prepare_cached(
            "UPDATE eventlane_outbox SET attempt_count = attempt_count + 1, next_retry_at_us = ?2, \
                 last_reason = ?3 \
             WHERE seq = ?1 AND acked_at_us IS NULL",
        )?;
        park.execute((seq, due_us, format!("{PARKED}{reason}")))?;
    }
    transaction.commit()
}

/// A server's reason must not read like our own mark.
fn unparked(reason: String) -> String {
    if reason.starts_with(PARKED) { format!(" {reason}") } else { reason }
}

/// Deletes ledger rows past their retention, and such as a clock that jumped stamped beyond it.
pub(crate) fn sweep(connection: &Connection, now_us: i64, retention_us: i64) -> rusqlite::Result<()> {
    let mut sweep = connection.prepare_cached(
        "DELETE FROM eventlane_outbox WHERE seq IN (SELECT seq FROM eventlane_outbox \
             WHERE acked_at_us IS NOT NULL AND (acked_at_us <= ?1 OR acked_at_us > ?2) LIMIT ?3)",
    )?;
    let mut due = connection.prepare_cached(
        "SELECT EXISTS (SELECT 1 FROM eventlane_outbox \
             WHERE acked_at_us IS NOT NULL AND (acked_at_us <= ?1 OR acked_at_us > ?2))",
    )?;
    let (past, beyond) = (now_us.saturating_sub(retention_us), now_us.saturating_add(retention_us));
    while due.query_row((past, beyond), |row| row.get::<_, bool>(0))? {
        sweep.execute((past, beyond, SWEEP_ROWS))?;
    }
    Ok(())
}

//! Waiting rows become ready: when their time has come, when the server has caught up with their
//! stream, when only a clock that jumped can have written their time.
//!
//! In slices of at most a batch, found through `eventlane_outbox_waiting (account=? AND stream=? AND
//! next_retry_at_us<?)`, so that a pass begins at once whatever waits.

use rusqlite::{Connection, TransactionBehavior};

use crate::streams::Key;
use crate::waiting::{earliest, is_parked_beyond, latest, waiting_streams};

/// Makes rows ready whose time has come, at most `limit` of each stream.
pub(crate) fn due(
    connection: &mut Connection,
    account: Option<&str>,
    limit: usize,
    due_us: i64,
) -> rusqlite::Result<()> {
    for stream in waiting_streams(connection, account)? {
        // Looks before it takes the write lock: most passes promote nothing.
        if earliest(connection, account, &stream)?.is_some_and(|earliest_us| earliest_us <= due_us) {
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            immediately(connection, PROMOTE_DUE, (account, &stream, due_us, limit))?;
        }
    }
    Ok(())
}

/// Makes rows ready whose time is further ahead than their stream's own longest delay. All of them, in
/// slices.
pub(crate) fn far(
    connection: &mut Connection,
    account: Option<&str>,
    limit: usize,
    far_us: &dyn Fn(&str) -> i64,
) -> rusqlite::Result<()> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    for stream in waiting_streams(connection, account)? {
        let far_us = far_us(stream.name());
        while latest(connection, account, &stream)?.is_some_and(|latest_us| latest_us > far_us) {
            immediately(connection, PROMOTE_FAR, (account, &stream, far_us, limit))?;
        }
    }
    Ok(())
}

/// Makes a stream's waiting rows ready whatever their time, but for those kept in this pass (all
/// within `kept`); whether there were any.
pub(crate) fn stream(
    connection: &mut Connection,
    account: Option<&str>,
    stream: &str,
    limit: usize,
    kept: Option<(i64, i64)>,
) -> rusqlite::Result<bool> {
    let stream = Key::of(stream);
    if earliest(connection, account, &stream)?.is_none() {
        return Ok(false);
    }
    let (first, last) = kept.unwrap_or((1, 0));
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    Ok(immediately(connection, PROMOTE_STREAM, (account, &stream, first, last, limit))? > 0)
}

/// Makes parked rows due whose time is further ahead than any parking lasts.
pub(crate) fn pull_parked(
    connection: &Connection,
    account: Option<&str>,
    far_us: i64,
    due_us: i64,
) -> rusqlite::Result<()> {
    if is_parked_beyond(connection, account, far_us)? {
        connection.prepare_cached(PULL_PARKED)?.execute((account, far_us, due_us))?;
    }
    Ok(())
}

fn immediately(
    connection: &mut Connection,
    sql: &'static str,
    params: impl rusqlite::Params,
) -> rusqlite::Result<usize> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let changed = transaction.prepare_cached(sql)?.execute(params)?;
    transaction.commit()?;
    Ok(changed)
}

pub(crate) const PROMOTE_DUE: &str = "UPDATE eventlane_outbox SET next_retry_at_us = NULL \
    WHERE seq IN (SELECT seq FROM eventlane_outbox \
        WHERE acked_at_us IS NULL AND next_retry_at_us IS NOT NULL \
            AND substr(coalesce(last_reason, ''), 1, 8) <> 'parked: ' \
            AND account IS ?1 AND stream = ?2 AND next_retry_at_us <= ?3 \
        ORDER BY next_retry_at_us LIMIT ?4)";

const PROMOTE_FAR: &str = "UPDATE eventlane_outbox SET next_retry_at_us = NULL \
    WHERE seq IN (SELECT seq FROM eventlane_outbox \
        WHERE acked_at_us IS NULL AND next_retry_at_us IS NOT NULL \
            AND substr(coalesce(last_reason, ''), 1, 8) <> 'parked: ' \
            AND account IS ?1 AND stream = ?2 AND next_retry_at_us > ?3 \
        ORDER BY next_retry_at_us DESC LIMIT ?4)";

const PROMOTE_STREAM: &str = "UPDATE eventlane_outbox SET next_retry_at_us = NULL \
    WHERE seq IN (SELECT seq FROM eventlane_outbox \
        WHERE acked_at_us IS NULL AND next_retry_at_us IS NOT NULL \
            AND substr(coalesce(last_reason, ''), 1, 8) <> 'parked: ' \
            AND account IS ?1 AND stream = ?2 AND NOT (seq BETWEEN ?3 AND ?4) \
        ORDER BY next_retry_at_us LIMIT ?5)";

const PULL_PARKED: &str = "UPDATE eventlane_outbox SET next_retry_at_us = ?3 \
    WHERE acked_at_us IS NULL AND next_retry_at_us IS NOT NULL \
        AND substr(coalesce(last_reason, ''), 1, 8) = 'parked: ' \
        AND account IS ?1 AND next_retry_at_us > ?2";

//! When a row that waits is due. Each look-up is one step into a partial index, for each account and
//! stream that has such rows.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension};

use crate::streams::{Key, streams};

/// Whether any row of any account is ready, but for such as were appended signed out.
pub(crate) fn is_any_ready(connection: &Connection) -> rusqlite::Result<bool> {
    connection.prepare_cached(ANY_READY)?.query_row([], |row| row.get(0))
}

/// The accounts that have waiting or parked rows, `None` first; signed out is none of them.
pub(crate) fn accounts(connection: &Connection) -> rusqlite::Result<Vec<Option<String>>> {
    // Whether it has any such rows the look-ups tell.
    let mut accounts = vec![None];
    for sql in [WAITING_ACCOUNT, PARKED_ACCOUNT] {
        let mut next = connection.prepare_cached(sql)?;
        let mut after = String::new();
        // A name that is no text sorts behind all that are; no token speaks for it.
        while let Some(Ok(account)) =
            next.query_row([&after], |row| Ok(row.get_ref(0)?.as_str().map(str::to_owned))).optional()?
        {
            after.clone_from(&account);
            accounts.push(Some(account));
        }
    }
    accounts.sort();
    accounts.dedup();
    Ok(accounts)
}

/// The streams that have waiting rows.
pub(crate) fn waiting_streams(connection: &Connection, account: Option<&str>) -> rusqlite::Result<Vec<Key>> {
    streams(connection, WAITING_STREAM, account)
}

/// The time the next waiting row of an account is due.
pub(crate) fn next_due_us(connection: &Connection, account: Option<&str>) -> rusqlite::Result<Option<i64>> {
    let mut next = None;
    for stream in waiting_streams(connection, account)? {
        next = [next, earliest(connection, account, &stream)?].into_iter().flatten().min();
    }
    Ok(next)
}

/// The time the next parked row of an account is due.
pub(crate) fn next_parked_us(
    connection: &Connection,
    account: Option<&str>,
) -> rusqlite::Result<Option<i64>> {
    connection.prepare_cached(PARKED_EARLIEST)?.query_row([account], time)
}

/// Whether a waiting row's time is further ahead than its stream's longest delay.
pub(crate) fn is_any_beyond(
    connection: &Connection,
    account: Option<&str>,
    far_us: &dyn Fn(&str) -> i64,
) -> rusqlite::Result<bool> {
    for stream in waiting_streams(connection, account)? {
        let latest_us = latest(connection, account, &stream)?;
        if latest_us.is_some_and(|latest_us| latest_us > far_us(stream.name())) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a parked row's time is further ahead than that.
pub(crate) fn is_parked_beyond(
    connection: &Connection,
    account: Option<&str>,
    far_us: i64,
) -> rusqlite::Result<bool> {
    let latest_us = connection.prepare_cached(PARKED_LATEST)?.query_row([account], time)?;
    Ok(latest_us.is_some_and(|latest_us| latest_us > far_us))
}

pub(crate) fn earliest(
    connection: &Connection,
    account: Option<&str>,
    stream: &Key,
) -> rusqlite::Result<Option<i64>> {
    Ok(connection.prepare_cached(EARLIEST)?.query_row((account, stream), time).optional()?.flatten())
}

pub(crate) fn latest(
    connection: &Connection,
    account: Option<&str>,
    stream: &Key,
) -> rusqlite::Result<Option<i64>> {
    Ok(connection.prepare_cached(LATEST)?.query_row((account, stream), time).optional()?.flatten())
}

/// A due time; what is none counts as one that only a broken clock can have written.
fn time(row: &rusqlite::Row<'_>) -> rusqlite::Result<Option<i64>> {
    Ok(match row.get_ref(0)? {
        ValueRef::Null => None,
        value => Some(value.as_i64().unwrap_or(i64::MAX)),
    })
}

pub(crate) const ANY_READY: &str = "SELECT EXISTS (SELECT 1 FROM eventlane_outbox \
        WHERE acked_at_us IS NULL AND next_retry_at_us IS NULL AND account IS NULL) \
    OR EXISTS (SELECT 1 FROM eventlane_outbox \
        WHERE acked_at_us IS NULL AND next_retry_at_us IS NULL AND account > '')";

pub(crate) const WAITING_ACCOUNT: &str = "SELECT account FROM eventlane_outbox \
    WHERE acked_at_us IS NULL AND next_retry_at_us IS NOT NULL \
        AND substr(coalesce(last_reason, ''), 1, 8) <> 'parked: ' AND account > ?1 \
    ORDER BY account LIMIT 1";

pub(crate) const PARKED_ACCOUNT: &str = "SELECT account FROM eventlane_outbox \
    WHERE acked_at_us IS NULL AND next_retry_at_us IS NOT NULL \
        AND substr(coalesce(last_reason, ''), 1, 8) = 'parked: ' AND account > ?1 \
    ORDER BY account LIMIT 1";

pub(crate) const WAITING_STREAM: &str = "SELECT stream FROM eventlane_outbox \
    WHERE acked_at_us IS NULL AND next_retry_at_us IS NOT NULL \
        AND substr(coalesce(last_reason, ''), 1, 8) <> 'parked: ' AND account IS ?1 AND stream >= ?2 \
    ORDER BY stream LIMIT 1";

pub(crate) const EARLIEST: &str = "SELECT next_retry_at_us FROM eventlane_outbox \
    WHERE acked_at_us IS NULL AND next_retry_at_us IS NOT NULL \
        AND substr(coalesce(last_reason, ''), 1, 8) <> 'parked: ' AND account IS ?1 AND stream = ?2 \
    ORDER BY next_retry_at_us LIMIT 1";

const LATEST: &str = "SELECT next_retry_at_us FROM eventlane_outbox \
    WHERE acked_at_us IS NULL AND next_retry_at_us IS NOT NULL \
        AND substr(coalesce(last_reason, ''), 1, 8) <> 'parked: ' AND account IS ?1 AND stream = ?2 \
    ORDER BY next_retry_at_us DESC LIMIT 1";

const PARKED_EARLIEST: &str = "SELECT min(next_retry_at_us) FROM eventlane_outbox \
    WHERE acked_at_us IS NULL AND next_retry_at_us IS NOT NULL \
        AND substr(coalesce(last_reason, ''), 1, 8) = 'parked: ' AND account IS ?1";

const PARKED_LATEST: &str = "SELECT max(next_retry_at_us) FROM eventlane_outbox \
    WHERE acked_at_us IS NULL AND next_retry_at_us IS NOT NULL \
        AND substr(coalesce(last_reason, ''), 1, 8) = 'parked: ' AND account IS ?1";

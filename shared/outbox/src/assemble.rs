//! Which rows ride next.
//!
//! Ready rows go by `seq` across all streams, at most a stream's cap of each. The cost does not grow
//! with the backlog, ready, waiting or another account's:
//!
//! - distinct streams: one step into `eventlane_outbox_ready` for each (a loose scan:
//!   `account IS ? AND stream > ?` ordered, limit 1);
//! - each stream's candidates: `SEARCH … USING COVERING INDEX eventlane_outbox_ready (account=? AND
//!   stream=?)`, in `seq` order, cut at the cap by LIMIT, so no sort and no row is touched;
//! - payloads are fetched by primary key, one at a time, until the batch is full.
//!
//! Waiting rows that are due become ready by promotion, in slices of at most a batch, through
//! `eventlane_outbox_waiting (account=? AND stream=? AND next_retry_at_us<?)`.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use crate::encode::{Builder, Offer, Slice, Stored};

/// What a batch is picked by.
pub(crate) struct Pick<'a> {
    pub(crate) account: Option<&'a str>,
    /// Events at most.
    pub(crate) limit: usize,
    pub(crate) caps: &'a BTreeMap<String, usize>,
    /// Rows under suspicion in this pass; few.
    pub(crate) skip: &'a [i64],
}

/// A row that no server could read.
pub(crate) struct Unsendable {
    pub(crate) seq: i64,
    pub(crate) stream: String,
    pub(crate) attempt_count: i64,
    pub(crate) why: &'static str,
}

/// The next batch of ready rows; `None` when no row is ready.
pub(crate) fn ready(
    connection: &Connection,
    pick: &Pick<'_>,
) -> rusqlite::Result<(Option<Slice>, Vec<Unsendable>)> {
    let mut seqs = Vec::new();
    let mut stream = String::new();
    while let Some(next) = next_stream(connection, READY_STREAM, pick.account, &stream)? {
        let cap = pick.caps.get(&next).copied().unwrap_or(usize::MAX).min(pick.limit);
        let wanted = cap.saturating_add(pick.skip.len());
        let mut candidates = connection.prepare_cached(CANDIDATES)?;
        let limit = i64::try_from(wanted).unwrap_or(i64::MAX);
        let found = candidates.query_map((pick.account, &next, limit), |row| row.get::<_, i64>(0))?;
        let found: Vec<i64> = found.collect::<Result<_, _>>()?;
        seqs.extend(found.into_iter().filter(|seq| !pick.skip.contains(seq)).take(cap));
        stream = next;
    }
    seqs.sort_unstable();
    seqs.truncate(pick.limit);
    fetch(connection, &seqs)
}

/// The newest ready row beside `skip`, as a batch of its own.
pub(crate) fn newest(
    connection: &Connection,
    account: Option<&str>,
    skip: &BTreeSet<i64>,
) -> rusqlite::Result<Option<Slice>> {
    let (mut newest, mut stream) = (None, String::new());
    while let Some(next) = next_stream(connection, READY_STREAM, account, &stream)? {
        let mut newest_of = connection.prepare_cached(NEWEST)?;
        let mut seqs = newest_of.query((account, &next))?;
        while let Some(row) = seqs.next()? {
            let seq: i64 = row.get(0)?;
            if !skip.contains(&seq) {
                newest = newest.max(Some(seq));
                break;
            }
        }
        stream = next;
    }
    // One that no server could read is parked when its turn comes.
    Ok(fetch(connection, newest.as_slice())?.0)
}

/// The next batch of parked rows that are due.
pub(crate) fn parked(
    connection: &Connection,
    account: Option<&str>,
    due_us: i64,
    limit: usize,
) -> rusqlite::Result<(Option<Slice>, Vec<Unsendable>)> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut due = connection.prepare_cached(PARKED_DUE)?;
    let seqs = due.query_map((account, due_us, limit), |row| row.get(0))?;
    let mut seqs: Vec<i64> = seqs.collect::<Result<_, _>>()?;
    seqs.sort_unstable();
    fetch(connection, &seqs)
}

fn fetch(connection: &Connection, seqs: &[i64]) -> rusqlite::Result<(Option<Slice>, Vec<Unsendable>)> {
    let mut builder = Builder::new();
    let mut unsendable = Vec::new();
    let mut by_seq = connection.prepare_cached(BY_SEQ)?;
    for &seq in seqs {
        // Gone meanwhile: another handle removed it.
        let Some(stored) = by_seq.query_row([seq], stored).optional()? else { continue };
        let (stream, attempt_count) = (stored.stream.clone(), stored.attempt_count);
        match builder.offer(stored) {
            Offer::Taken => {}
            Offer::Full => break,
            Offer::Unsendable(why) => {
                unsendable.push(Unsendable { seq, stream, attempt_count, why });
            }
        }
    }
    Ok(((!builder.is_empty()).then(|| builder.finish()), unsendable))
}

/// Another writer may have stored any type in any column: what is no text and no number is left to
/// the envelope's own check, so that one such row never fails the whole pass.
fn stored(row: &rusqlite::Row<'_>) -> rusqlite::Result<Stored> {
    Ok(Stored {
        seq: row.get(0)?,
        event_id: row.get_ref(1)?.as_str().unwrap_or_default().to_owned(),
        stream: row.get_ref(2)?.as_str().unwrap_or_default().to_owned(),
        occurred_at_us: row.get_ref(3)?.as_i64().unwrap_or(-1),
        payload: row.get_ref(4)?.as_str().unwrap_or_default().to_owned(),
        attempt_count: row.get_ref(5)?.as_i64().unwrap_or(0),
    })
}

/// A due time; what is none counts as one that only a broken clock can have written.
fn time(row: &rusqlite::Row<'_>) -> rusqlite::Result<Option<i64>> {
    Ok(match row.get_ref(0)? {
        ValueRef::Null => None,
        value => Some(value.as_i64().unwrap_or(i64::MAX)),
    })
}

/// Makes rows ready whose time has come, at most `limit` of each stream.
pub(crate) fn promote_due(
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

/// Makes rows ready whose time is further ahead than their stream's own longest delay: only a clock
/// that jumped can have written it. All of them, in slices.
pub(crate) fn promote_far(
    connection: &mut Connection,
    account: Option<&str>,
    limit: usize,
    far_us: &dyn Fn(&str) -> i64,
) -> rusqlite::Result<()> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    for stream in waiting_streams(connection, account)? {
        let far_us = far_us(&stream);
        while latest(connection, account, &stream)?.is_some_and(|latest_us| latest_us > far_us) {
            immediately(connection, PROMOTE_FAR, (account, &stream, far_us, limit))?;
        }
    }
    Ok(())
}

/// Makes a stream's waiting rows ready whatever their time, but for those kept in this pass (all
/// within `kept`); whether there were any.
pub(crate) fn promote_stream(
    connection: &mut Connection,
    account: Option<&str>,
    stream: &str,
    limit: usize,
    kept: Option<(i64, i64)>,
) -> rusqlite::Result<bool> {
    if earliest(connection, account, stream)?.is_none() {
        return Ok(false);
    }
    let (first, last) = kept.unwrap_or((1, 0));
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    Ok(immediately(connection, PROMOTE_STREAM, (account, stream, first, last, limit))? > 0)
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

fn waiting_streams(connection: &Connection, account: Option<&str>) -> rusqlite::Result<Vec<String>> {
    let mut streams: Vec<String> = Vec::new();
    loop {
        let after = streams.last().map_or("", String::as_str);
        match next_stream(connection, WAITING_STREAM, account, after)? {
            Some(next) => streams.push(next),
            None => return Ok(streams),
        }
    }
}

fn earliest(connection: &Connection, account: Option<&str>, stream: &str) -> rusqlite::Result<Option<i64>> {
    Ok(connection.prepare_cached(EARLIEST)?.query_row((account, stream), time).optional()?.flatten())
}

fn latest(connection: &Connection, account: Option<&str>, stream: &str) -> rusqlite::Result<Option<i64>> {
    Ok(connection.prepare_cached(LATEST)?.query_row((account, stream), time).optional()?.flatten())
}

/// Makes parked rows due whose time is further ahead than any parking lasts.
pub(crate) fn pull_parked(
    connection: &Connection,
    account: Option<&str>,
    far_us: i64,
    due_us: i64,
) -> rusqlite::Result<()> {
    let latest_us = connection.prepare_cached(PARKED_LATEST)?.query_row([account], time)?;
    if latest_us.is_some_and(|latest_us| latest_us > far_us) {
        connection.prepare_cached(PULL_PARKED)?.execute((account, far_us, due_us))?;
    }
    Ok(())
}

/// The time the next waiting row of this account is due.
/// Parked rows not before `parked_from_us`.
pub(crate) fn next_due_us(
    connection: &Connection,
    account: Option<&str>,
    parked_from_us: Option<i64>,
) -> rusqlite::Result<Option<i64>> {
    let parked = connection.prepare_cached(PARKED_EARLIEST)?.query_row([account], time)?;
    let mut next = parked.map(|due_us| parked_from_us.map_or(due_us, |from_us| due_us.max(from_us)));
    for stream in waiting_streams(connection, account)? {
        next = [next, earliest(connection, account, &stream)?].into_iter().flatten().min();
    }
    Ok(next)
}

fn next_stream(
    connection: &Connection,
    sql: &'static str,
    account: Option<&str>,
    after: &str,
) -> rusqlite::Result<Option<String>> {
    // A name that is no text sorts behind all that are: such rows ride never, and stop nobody.
    let name = |row: &rusqlite::Row<'_>| Ok(row.get_ref(0)?.as_str().ok().map(str::to_owned));
    Ok(connection.prepare_cached(sql)?.query_row((account, after), name).optional()?.flatten())
}

pub(crate) const READY_STREAM: &str = "SELECT stream FROM eventlane_outbox \
    WHERE acked_at_us IS NULL AND next_retry_at_us IS NULL AND account IS ?1 AND stream > ?2 \
    ORDER BY stream LIMIT 1";

pub(crate) const CANDIDATES: &str = "SELECT seq FROM eventlane_outbox \
    WHERE acked_at_us IS NULL AND next_retry_at_us IS NULL AND account IS ?1 AND stream = ?2 \
    ORDER BY seq LIMIT ?3";

pub(crate) const NEWEST: &str = "SELECT seq FROM eventlane_outbox \
    WHERE acked_at_us IS NULL AND next_retry_at_us IS NULL AND account IS ?1 AND stream = ?2 \
    ORDER BY seq DESC";

pub(crate) const WAITING_STREAM: &str = "SELECT stream FROM eventlane_outbox \
    WHERE acked_at_us IS NULL AND next_retry_at_us IS NOT NULL \
        AND substr(coalesce(last_reason, ''), 1, 8) <> 'parked: ' AND account IS ?1 AND stream > ?2 \
    ORDER BY stream LIMIT 1";

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

const PULL_PARKED: &str = "UPDATE eventlane_outbox SET next_retry_at_us = ?3 \
    WHERE acked_at_us IS NULL AND next_retry_at_us IS NOT NULL \
        AND substr(coalesce(last_reason, ''), 1, 8) = 'parked: ' \
        AND account IS ?1 AND next_retry_at_us > ?2";

pub(crate) const PARKED_DUE: &str = "SELECT seq FROM eventlane_outbox \
    WHERE acked_at_us IS NULL AND next_retry_at_us IS NOT NULL \
        AND substr(coalesce(last_reason, ''), 1, 8) = 'parked: ' \
        AND account IS ?1 AND next_retry_at_us <= ?2 \
    ORDER BY next_retry_at_us LIMIT ?3";

const PARKED_EARLIEST: &str = "SELECT min(next_retry_at_us) FROM eventlane_outbox \
    WHERE acked_at_us IS NULL AND next_retry_at_us IS NOT NULL \
        AND substr(coalesce(last_reason, ''), 1, 8) = 'parked: ' AND account IS ?1";

const PARKED_LATEST: &str = "SELECT max(next_retry_at_us) FROM eventlane_outbox \
    WHERE acked_at_us IS NULL AND next_retry_at_us IS NOT NULL \
        AND substr(coalesce(last_reason, ''), 1, 8) = 'parked: ' AND account IS ?1";

pub(crate) const EARLIEST: &str = "SELECT next_retry_at_us FROM eventlane_outbox \
    WHERE acked_at_us IS NULL AND next_retry_at_us IS NOT NULL \
        AND substr(coalesce(last_reason, ''), 1, 8) <> 'parked: ' AND account IS ?1 AND stream = ?2 \
    ORDER BY next_retry_at_us LIMIT 1";

const LATEST: &str = "SELECT next_retry_at_us FROM eventlane_outbox \
    WHERE acked_at_us IS NULL AND next_retry_at_us IS NOT NULL \
        AND substr(coalesce(last_reason, ''), 1, 8) <> 'parked: ' AND account IS ?1 AND stream = ?2 \
    ORDER BY next_retry_at_us DESC LIMIT 1";

const PROMOTE_STREAM: &str = "UPDATE eventlane_outbox SET next_retry_at_us = NULL \
    WHERE seq IN (SELECT seq FROM eventlane_outbox \
        WHERE acked_at_us IS NULL AND next_retry_at_us IS NOT NULL \
            AND substr(coalesce(last_reason, ''), 1, 8) <> 'parked: ' \
            AND account IS ?1 AND stream = ?2 AND NOT (seq BETWEEN ?3 AND ?4) \
        ORDER BY next_retry_at_us LIMIT ?5)";

pub(crate) const BY_SEQ: &str = "SELECT seq, event_id, stream, occurred_at_us, payload, attempt_count \
    FROM eventlane_outbox WHERE seq = ?1 AND acked_at_us IS NULL";

//! Which rows ride next.
//!
//! Ready rows go by `seq` across all streams, at most a stream's places of each. The cost does not grow
//! with the backlog, ready, waiting or another account's:
//!
//! - distinct streams: one step into `eventlane_outbox_ready` for each (a loose scan:
//!   `account IS ? AND stream >= ?` ordered, limit 1);
//! - each stream's candidates: `SEARCH … USING COVERING INDEX eventlane_outbox_ready (account=? AND
//!   stream=?)`, in `seq` order, cut at the stream's places by LIMIT, so no sort and no row is touched;
//! - payloads are fetched by primary key, one at a time, until the batch is full.
//!
//! Waiting rows that are due become ready by promotion, see [`promote`](crate::promote).

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension};

use crate::encode::{Builder, Offer, Slice, Stored};
use crate::streams::{Key, streams};

/// What a batch is picked by.
pub(crate) struct Pick<'a> {
    pub(crate) account: Option<&'a str>,
    /// Events at most.
    pub(crate) limit: usize,
    /// What a stream may have of them.
    pub(crate) places: &'a dyn Fn(&str) -> Places,
    /// Rows under suspicion in this pass; few.
    pub(crate) skip: &'a BTreeSet<i64>,
}

/// A stream's places in a batch.
pub(crate) enum Places {
    /// It rests.
    None,
    /// Its oldest row and its newest: neither a bad row nor a new one says all of the stream.
    Probe,
    Upto(usize),
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
    let mut seqs = BTreeSet::new();
    for stream in streams(connection, READY_STREAM, pick.account)? {
        match (pick.places)(stream.name()) {
            Places::None => {}
            Places::Probe => {
                seqs.extend(oldest_of(connection, pick, &stream, 1)?);
                seqs.extend(newest_of(connection, pick, &stream)?);
            }
            Places::Upto(cap) => {
                seqs.extend(oldest_of(connection, pick, &stream, cap.min(pick.limit))?);
            }
        }
    }
    fetch(connection, seqs.into_iter().take(pick.limit))
}

/// The newest ready row, as a batch of its own.
pub(crate) fn newest(connection: &Connection, pick: &Pick<'_>) -> rusqlite::Result<Option<Slice>> {
    let mut newest = None;
    for stream in streams(connection, READY_STREAM, pick.account)? {
        if !matches!((pick.places)(stream.name()), Places::None) {
            newest = newest.max(newest_of(connection, pick, &stream)?);
        }
    }
    // One that no server could read is parked when its turn comes.
    Ok(fetch(connection, newest)?.0)
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
    fetch(connection, seqs)
}

fn oldest_of(
    connection: &Connection,
    pick: &Pick<'_>,
    stream: &Key,
    count: usize,
) -> rusqlite::Result<Vec<i64>> {
    let wanted = i64::try_from(count.saturating_add(pick.skip.len())).unwrap_or(i64::MAX);
    let mut candidates = connection.prepare_cached(CANDIDATES)?;
    let found = candidates.query_map((pick.account, stream, wanted), |row| row.get::<_, i64>(0))?;
    let found = found.filter(|seq| seq.as_ref().map_or(true, |seq| !pick.skip.contains(seq)));
    found.take(count).collect()
}

fn newest_of(connection: &Connection, pick: &Pick<'_>, stream: &Key) -> rusqlite::Result<Option<i64>> {
    let mut newest = connection.prepare_cached(NEWEST)?;
    let mut found = newest.query_map((pick.account, stream), |row| row.get::<_, i64>(0))?;
    found.find(|seq| seq.as_ref().map_or(true, |seq| !pick.skip.contains(seq))).transpose()
}

fn fetch(
    connection: &Connection,
    seqs: impl IntoIterator<Item = i64>,
) -> rusqlite::Result<(Option<Slice>, Vec<Unsendable>)> {
    let mut builder = Builder::new();
    let mut unsendable = Vec::new();
    let mut by_seq = connection.prepare_cached(BY_SEQ)?;
    for seq in seqs {
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

pub(crate) const READY_STREAM: &str = "SELECT stream FROM eventlane_outbox \
    WHERE acked_at_us IS NULL AND next_retry_at_us IS NULL AND account IS ?1 AND stream >= ?2 \
    ORDER BY stream LIMIT 1";

pub(crate) const CANDIDATES: &str = "SELECT seq FROM eventlane_outbox \
    WHERE acked_at_us IS NULL AND next_retry_at_us IS NULL AND account IS ?1 AND stream = ?2 \
    ORDER BY seq LIMIT ?3";

pub(crate) const NEWEST: &str = "SELECT seq FROM eventlane_outbox \
    WHERE acked_at_us IS NULL AND next_retry_at_us IS NULL AND account IS ?1 AND stream = ?2 \
    ORDER BY seq DESC";

pub(crate) const PARKED_DUE: &str = "SELECT seq FROM eventlane_outbox \
    WHERE acked_at_us IS NULL AND next_retry_at_us IS NOT NULL \
        AND substr(coalesce(last_reason, ''), 1, 8) = 'parked: ' \
        AND account IS ?1 AND next_retry_at_us <= ?2 \
    ORDER BY next_retry_at_us LIMIT ?3";

pub(crate) const BY_SEQ: &str = "SELECT seq, event_id, stream, occurred_at_us, payload, attempt_count \
    FROM eventlane_outbox WHERE seq = ?1 AND acked_at_us IS NULL";

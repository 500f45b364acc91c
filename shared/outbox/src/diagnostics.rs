//! What a support case wants to know. Walks the backlog; no payload, no account in it.

use std::path::PathBuf;

use serde::Serialize;

use crate::bounds::is_withdrawn;
use crate::error::FlushError;
use crate::lane::retry_after_until_us;
use crate::outbox::Outbox;
use crate::quarantine::QUARANTINED_KEY;
use crate::{migrate, schema};

/// The state of an outbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Diagnostics {
    /// The file.
    pub path: PathBuf,
    /// Its size without side files, in bytes.
    pub file_bytes: u64,
    /// The schema's version.
    pub schema_version: i64,
    /// Rows pending a verdict.
    pub pending_rows: u64,
    /// Bytes of their payloads.
    pub pending_bytes: u64,
    /// Rows of the acked ledger.
    pub acked_rows: u64,
    /// Accounts with pending rows, NULL and signed out counted as one each.
    pub accounts: u64,
    /// What is pending, by stream, sorted by name.
    pub streams: Vec<StreamDiagnostics>,
    /// Whether consent is given.
    pub has_consent: bool,
    /// Nothing is sent before, because the server asked for it; unix microseconds.
    pub retry_after_until_us: Option<i64>,
    /// When a damaged file was last put aside, unix microseconds: what was in it is not in here.
    pub quarantined_at_us: Option<i64>,
}

/// One stream's pending rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct StreamDiagnostics {
    /// Its name.
    pub stream: String,
    /// Whether this build's registry knows it.
    pub is_registered: bool,
    /// Rows that the next pass may send.
    pub ready: u64,
    /// Deferred rows.
    pub waiting: u64,
    /// Parked rows.
    pub parked: u64,
    /// When its oldest row was stored, unix microseconds.
    pub oldest_enqueued_at_us: i64,
    /// The most attempts any of its rows has had.
    pub most_attempts: i64,
}

impl Outbox {
    /// The state of the outbox, for a support case. Walks the backlog.
    ///
    /// # Errors
    /// [`FlushError::Store`] when the outbox can't be read.
    pub fn diagnostics(&self) -> Result<Diagnostics, FlushError> {
        let writer = self.inner.writer();
        let mut statement = writer.prepare(
            "SELECT CAST(stream AS TEXT), \
                 count(*) FILTER (WHERE next_retry_at_us IS NULL), \
                 count(*) FILTER (WHERE next_retry_at_us IS NOT NULL \
                     AND substr(coalesce(last_reason, ''), 1, 8) <> 'parked: '), \
                 count(*) FILTER (WHERE next_retry_at_us IS NOT NULL \
                     AND substr(coalesce(last_reason, ''), 1, 8) = 'parked: '), \
                 min(enqueued_at_us), max(attempt_count) \
             FROM eventlane_outbox WHERE acked_at_us IS NULL GROUP BY stream ORDER BY stream",
        )?;
        let streams = statement.query_map([], |row| {
            let stream: String = row.get(0)?;
            Ok(StreamDiagnostics {
                is_registered: self.inner.registry.stream(&stream).is_some(),
                stream,
                ready: row.get(1)?,
                waiting: row.get(2)?,
                parked: row.get(3)?,
                oldest_enqueued_at_us: row.get(4)?,
                most_attempts: row.get(5)?,
            })
        })?;
        let streams = streams.collect::<Result<Vec<_>, _>>()?;
        let (pending_rows, pending_bytes, acked_rows, accounts): (u64, u64, u64, u64) = writer.query_row(
            "SELECT count(*) FILTER (WHERE acked_at_us IS NULL), \
                 coalesce(sum(length(CAST(payload AS BLOB))) FILTER (WHERE acked_at_us IS NULL), 0), \
                 count(acked_at_us), \
                 count(DISTINCT coalesce('=' || account, '')) FILTER (WHERE acked_at_us IS NULL) \
             FROM eventlane_outbox",
            [],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)),
        )?;
        Ok(Diagnostics {
            path: self.inner.path.clone(),
            file_bytes: std::fs::metadata(&self.inner.path).map_or(0, |metadata| metadata.len()),
            schema_version: migrate::version(&writer)?.unwrap_or(0),
            pending_rows,
            pending_bytes,
            acked_rows,
            accounts,
            streams,
            has_consent: !is_withdrawn(&writer)?,
            retry_after_until_us: retry_after_until_us(&writer, self.inner.clock.now_us())?,
            quarantined_at_us: schema::get(&writer, QUARANTINED_KEY)?,
        })
    }
}

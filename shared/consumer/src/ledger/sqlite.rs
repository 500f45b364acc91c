//! The ledger in a SQLite file, for local runs and tests.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use eventlane_contracts::{Clock, QueuedEvent, StreamName};
use rusqlite::{OptionalExtension, Transaction};

use super::{Claim, Ledger, LedgerError};
use crate::sqlite::File;

const DDL: &str = "
CREATE TABLE IF NOT EXISTS marks (
    stream TEXT NOT NULL,
    event_id TEXT NOT NULL,
    identity TEXT NOT NULL,
    owner TEXT,
    expires_at_us INTEGER NOT NULL,
    PRIMARY KEY (stream, event_id, identity)
) WITHOUT ROWID;
";

/// A ledger in one SQLite file, table `marks`: a mark without an owner is a done one. Clones share
/// the connection.
#[derive(Clone)]
pub struct SqliteLedger {
    file: File,
    clock: Arc<dyn Clock>,
}

/// An event's key: id and identity.
type Key = (String, String);

impl SqliteLedger {
    /// Opens or creates the file.
    ///
    /// # Errors
    /// [`LedgerError`] when SQLite can't open or prepare it.
    pub fn open(path: &Path, clock: Arc<dyn Clock>) -> Result<Self, LedgerError> {
        let file = File::open(path, DDL).map_err(|error| LedgerError(error.to_string()))?;
        Ok(Self { file, clock })
    }

    /// Runs `each` for every event in one write transaction on a blocking thread.
    async fn for_each<T, F>(&self, events: &[QueuedEvent], each: F) -> Result<Vec<T>, LedgerError>
    where
        T: Send + 'static,
        F: Fn(&Transaction<'_>, &Key) -> rusqlite::Result<T> + Send + 'static,
    {
        // A map of texts always serialises, its keys sorted.
        let identity = |event: &QueuedEvent| serde_json::to_string(&event.identity).unwrap_or_default();
        let keys: Vec<Key> = events.iter().map(|event| (event.event_id.clone(), identity(event))).collect();
        let work = self.file.in_transaction(move |transaction| {
            keys.iter().map(|key| each(transaction, key)).collect::<Result<_, _>>()
        });
        work.await.map_err(LedgerError)
    }
}

#[async_trait]
impl Ledger for SqliteLedger {
    async fn begin(
        &self,
        stream: &StreamName,
        events: &[QueuedEvent],
        owner: &str,
        lease: Duration,
    ) -> Result<Vec<Claim>, LedgerError> {
        let (stream, owner, now) = (stream.to_string(), owner.to_owned(), self.clock.now_us());
        self.for_each(events, move |transaction, key| {
            let select =
                "SELECT owner, expires_at_us FROM marks WHERE stream = ?1 AND event_id = ?2 AND identity = ?3";
            let there: Option<(Option<String>, i64)> = transaction
                .prepare_cached(select)?
                .query_row((&stream, &key.0, &key.1), |row| Ok((row.get(0)?, row.get(1)?)))
                .optional()?;
            match there.filter(|(_, expires_at)| *expires_at > now) {
                Some((None, _)) => return Ok(Claim::Done),
                Some((Some(other), expires_at)) if other != owner => {
                    return Ok(Claim::Busy(span(expires_at - now)));
                }
                _ => {}
            }
            let insert = "INSERT OR REPLACE INTO marks VALUES (?1, ?2, ?3, ?4, ?5)";
            let mark = (&stream, &key.0, &key.1, &owner, after(now, lease));
            transaction.prepare_cached(insert)?.execute(mark)?;
            Ok(Claim::Ours)
        })
        .await
    }

    async fn renew(
        &self,
        stream: &StreamName,
        events: &[QueuedEvent],
        owner: &str,
        lease: Duration,
    ) -> Result<bool, LedgerError> {
        let (stream, owner, now) = (stream.to_string(), owner.to_owned(), self.clock.now_us());
        let renewed = self.for_each(events, move |transaction, key| {
            let update = "UPDATE marks SET expires_at_us = ?5 \
                          WHERE stream = ?1 AND event_id = ?2 AND identity = ?3 AND owner = ?4";
            let mark = (&stream, &key.0, &key.1, &owner, after(now, lease));
            Ok(transaction.prepare_cached(update)?.execute(mark)? == 1)
        });
        Ok(renewed.await?.into_iter().all(|ours| ours))
    }

    async fn finish(
        &self,
        stream: &StreamName,
        events: &[QueuedEvent],
        owner: &str,
        keep: Duration,
    ) -> Result<(), LedgerError> {
        let (stream, owner, now) = (stream.to_string(), owner.to_owned(), self.clock.now_us());
        let finished = self.for_each(events, move |transaction, key| {
            // Handled is handled, even if the mark was lost meanwhile; another's work stays marked.
            let upsert = "INSERT INTO marks VALUES (?1, ?2, ?3, NULL, ?5) \
                          ON CONFLICT DO UPDATE SET owner = NULL, expires_at_us = ?5 \
                          WHERE owner = ?4 OR expires_at_us <= ?6";
            let mark = (&stream, &key.0, &key.1, &owner, after(now, keep), now);
            transaction.prepare_cached(upsert)?.execute(mark).map(drop)
        });
        finished.await.map(drop)
    }

    async fn forget(
        &self,
        stream: &StreamName,
        events: &[QueuedEvent],
        owner: &str,
    ) -> Result<(), LedgerError> {
        let (stream, owner) = (stream.to_string(), owner.to_owned());
        let forgotten = self.for_each(events, move |transaction, key| {
            let delete =
                "DELETE FROM marks WHERE stream = ?1 AND event_id = ?2 AND identity = ?3 AND owner = ?4";
            transaction.prepare_cached(delete)?.execute((&stream, &key.0, &key.1, &owner)).map(drop)
        });
        forgotten.await.map(drop)
    }
}

fn after(now_us: i64, duration: Duration) -> i64 {
    now_us.saturating_add(i64::try_from(duration.as_micros()).unwrap_or(i64::MAX))
}

fn span(microseconds: i64) -> Duration {
    Duration::from_micros(u64::try_from(microseconds).unwrap_or(0))
}

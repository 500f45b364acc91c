//! The archive in a SQLite file, for local runs: a sub-batch is stored whole or not at all.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use eventlane_contracts::{Clock, QueuedEvent, StreamName};
use rusqlite::Transaction;

use super::{Archive, ArchiveError, EraseIdentity, Erased, Stored};
use crate::sqlite::File;

const DDL: &str = "
CREATE TABLE IF NOT EXISTS events (
    stream TEXT NOT NULL,
    event_id TEXT NOT NULL,
    identity TEXT NOT NULL,
    occurred_at_us INTEGER NOT NULL,
    payload TEXT NOT NULL,
    archived_at_us INTEGER NOT NULL,
    PRIMARY KEY (stream, event_id, identity)
) WITHOUT ROWID;
";

/// An archive in one SQLite file, table `events`. Clones share the connection.
#[derive(Clone)]
pub struct SqliteArchive {
    file: File,
    clock: Arc<dyn Clock>,
}

impl SqliteArchive {
    /// Opens or creates the file.
    ///
    /// # Errors
    /// [`ArchiveError`] when SQLite can't open or prepare it.
    pub fn open(path: &Path, clock: Arc<dyn Clock>) -> Result<Self, ArchiveError> {
        let file = File::open(path, DDL).map_err(|error| ArchiveError(error.to_string()))?;
        Ok(Self { file, clock })
    }
}

#[async_trait]
impl Archive for SqliteArchive {
    async fn store(&self, stream: &StreamName, events: &[QueuedEvent]) -> Result<Stored, ArchiveError> {
        let (stream, events, now) = (stream.clone(), events.to_vec(), self.clock.now_us());
        let store = self.file.in_transaction(move |transaction| {
            let mut stored = Stored::default();
            for event in &events {
                store_one(transaction, &stream, event, now, &mut stored)?;
            }
            Ok(stored)
        });
        store.await.map_err(ArchiveError)
    }
}

#[async_trait]
impl EraseIdentity for SqliteArchive {
    async fn erase(
        &self,
        streams: &[StreamName],
        identity: &BTreeMap<String, String>,
        act: bool,
    ) -> Result<Erased, ArchiveError> {
        if identity.is_empty() {
            return Err(ArchiveError("no identity is named".into()));
        }
        // A map of texts always serialises.
        let wanted = serde_json::to_string(identity).unwrap_or_default();
        let streams = streams.to_vec();
        let work = self.file.in_transaction(move |transaction| {
            let mut erased = Erased::default();
            for stream in &streams {
                let (stream, wanted) = (stream.as_str(), wanted.as_str());
                erased.found += transaction.query_row(
                    &format!("SELECT count(*) FROM events {MATCHING}"),
                    (stream, wanted),
                    |row| row.get::<_, u64>(0),
                )?;
                if act {
                    let delete = format!("DELETE FROM events {MATCHING}");
                    erased.erased += transaction.execute(&delete, (stream, wanted))? as u64;
                }
            }
            Ok(erased)
        });
        work.await.map_err(ArchiveError)
    }
}

/// Rows of stream `?1` that have every field of the identity `?2`.
const MATCHING: &str = "WHERE stream = ?1 AND NOT EXISTS (
    SELECT 1 FROM json_each(?2) AS wanted WHERE NOT EXISTS (
        SELECT 1 FROM json_each(events.identity) AS own WHERE own.key = wanted.key AND own.value = wanted.value))";

fn store_one(
    transaction: &Transaction<'_>,
    stream: &StreamName,
    event: &QueuedEvent,
    now: i64,
    stored: &mut Stored,
) -> rusqlite::Result<()> {
    // A map of texts always serialises, its keys sorted.
    let identity = serde_json::to_string(&event.identity).unwrap_or_default();
    let key = (stream.as_str(), &event.event_id, &identity);
    let inserted = transaction
        .prepare_cached(
            "INSERT OR IGNORE INTO events (stream, event_id, identity, occurred_at_us, payload, archived_at_us) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute((key.0, key.1, key.2, &event.occurred_at_us, event.payload.get(), now))?;
    if inserted == 1 {
        stored.new += 1;
        return Ok(());
    }
    let kept: String = transaction
        .prepare_cached("SELECT payload FROM events WHERE stream = ?1 AND event_id = ?2 AND identity = ?3")?
        .query_row(key, |row| row.get(0))?;
    if kept == event.payload.get() {
        stored.duplicates += 1;
    } else {
        stored.conflicts += 1;
    }
    Ok(())
}

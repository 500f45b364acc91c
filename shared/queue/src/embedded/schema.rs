//! The file's schema and its version.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use crate::OpenError;

/// `user_version` of a file written by this build.
const VERSION: i64 = 1;

const DDL: &str = "
CREATE TABLE IF NOT EXISTS queues (stream TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS messages (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL,
    stream TEXT NOT NULL REFERENCES queues (stream),
    body TEXT NOT NULL,
    attributes TEXT NOT NULL,
    enqueued_at_us INTEGER NOT NULL,
    visible_at_us INTEGER NOT NULL,
    receive_count INTEGER NOT NULL DEFAULT 0,
    first_received_us INTEGER,
    receipt TEXT
);
CREATE INDEX IF NOT EXISTS messages_by_visibility ON messages (stream, visible_at_us, seq);
CREATE UNIQUE INDEX IF NOT EXISTS messages_by_receipt ON messages (receipt) WHERE receipt IS NOT NULL;
CREATE TABLE IF NOT EXISTS dead_letters (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL,
    stream TEXT NOT NULL,
    body TEXT NOT NULL,
    attributes TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS dead_letters_by_stream ON dead_letters (stream, seq);
";

/// Sets the pragmas and creates the tables, or refuses a newer file.
pub(super) fn prepare(connection: &mut Connection, path: &Path) -> Result<(), OpenError> {
    let shown = path.display().to_string();
    let fault = |source| OpenError::Sqlite { path: shown.clone(), source };
    // WAL lets the ingest and the drain, two processes, work side by side; FULL syncs each commit.
    connection.pragma_update(None, "journal_mode", "WAL").map_err(fault)?;
    connection.pragma_update(None, "synchronous", "FULL").map_err(fault)?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(fault)?;
    let found: i64 = transaction.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(fault)?;
    if found > VERSION {
        return Err(OpenError::Newer { path: shown, found, known: VERSION });
    }
    transaction.execute_batch(DDL).map_err(fault)?;
    transaction.pragma_update(None, "user_version", VERSION).map_err(fault)?;
    transaction.commit().map_err(fault)
}

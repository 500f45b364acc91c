//! The tables, public contract: apps may read them, and join pending rows into their own views.
//!
//! Invariants: `seq` is never handed out twice (AUTOINCREMENT), so a late settle can't hit a newer
//! row; rows are settled by `event_id`; `acked_at_us IS NULL` is the pending predicate everywhere;
//! `next_retry_at_us IS NULL` means eligible now.
//!
//! A parked row is a waiting row whose `last_reason` begins with [`PARKED`]. Three partial indexes
//! keep the kinds apart, so that finding one kind never walks through another's backlog:
//! `ready` by (account, stream, seq), `waiting` and `parked` by due time. `ready` holds the columns of
//! its own condition too: SQLite then picks rows without reading past their payloads.

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior};
use std::sync::Arc;

use crate::error::OpenError;

/// This build's schema version, kept in `eventlane_meta` under `schema_version`.
pub const SCHEMA_VERSION: i64 = 1;

/// How `last_reason` of a parked row begins.
pub const PARKED: &str = "parked: ";

/// The pending rows in append order: `seq, event_id, stream, occurred_at_us, payload,
/// attempt_count, next_retry_at_us, last_reason`. Read-only, for views and diagnostics.
pub const PENDING_SQL: &str = "SELECT seq, event_id, stream, occurred_at_us, payload, attempt_count, \
     next_retry_at_us, last_reason FROM eventlane_outbox WHERE acked_at_us IS NULL ORDER BY seq";

/// How many rows are pending. Walks them all: for diagnostics, not for every frame.
pub const PENDING_COUNT_SQL: &str = "SELECT count(*) FROM eventlane_outbox WHERE acked_at_us IS NULL";

/// The DDL, whatever streams are registered. Public contract.
pub const DDL: &str = "
CREATE TABLE eventlane_outbox (
    seq              INTEGER PRIMARY KEY AUTOINCREMENT,
    event_id         TEXT NOT NULL UNIQUE,
    stream           TEXT NOT NULL,
    occurred_at_us   INTEGER NOT NULL,
    payload          TEXT NOT NULL,
    enqueued_at_us   INTEGER NOT NULL,
    attempt_count    INTEGER NOT NULL DEFAULT 0,
    next_retry_at_us INTEGER,
    last_reason      TEXT,
    acked_at_us      INTEGER,
    account          TEXT
);
CREATE INDEX eventlane_outbox_ready ON eventlane_outbox
    (account, stream, seq, next_retry_at_us, acked_at_us)
    WHERE acked_at_us IS NULL AND next_retry_at_us IS NULL;
CREATE INDEX eventlane_outbox_waiting ON eventlane_outbox (account, stream, next_retry_at_us)
    WHERE acked_at_us IS NULL AND next_retry_at_us IS NOT NULL
        AND substr(coalesce(last_reason, ''), 1, 8) <> 'parked: ';
CREATE INDEX eventlane_outbox_parked ON eventlane_outbox (account, next_retry_at_us)
    WHERE acked_at_us IS NULL AND next_retry_at_us IS NOT NULL
        AND substr(coalesce(last_reason, ''), 1, 8) = 'parked: ';
CREATE INDEX eventlane_outbox_acked ON eventlane_outbox (acked_at_us) WHERE acked_at_us IS NOT NULL;
";

const META_DDL: &str = "CREATE TABLE IF NOT EXISTS eventlane_meta (
    key   TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) WITHOUT ROWID";

const VERSION_KEY: &str = "schema_version";

/// Creates what is missing; refuses what a newer build wrote.
pub(crate) fn prepare(connection: &mut Connection) -> Result<(), OpenError> {
    let store = |error| OpenError::Store(Arc::new(error));
    // The write lock from the start: two processes may create the file at the same moment.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(store)?;
    transaction.execute(META_DDL, []).map_err(store)?;
    let found = get(&transaction, VERSION_KEY).map_err(store)?;
    match found {
        Some(found) if found > SCHEMA_VERSION => {
            return Err(OpenError::Newer { found, known: SCHEMA_VERSION });
        }
        Some(_) => {}
        None => create(&transaction).map_err(store)?,
    }
    transaction.commit().map_err(store)
}

fn create(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    transaction.execute_batch(DDL)?;
    set(transaction, VERSION_KEY, SCHEMA_VERSION)
}

/// A number of `eventlane_meta`.
pub(crate) fn get(connection: &Connection, key: &str) -> rusqlite::Result<Option<i64>> {
    connection
        .prepare_cached("SELECT value FROM eventlane_meta WHERE key = ?1")?
        .query_row([key], |row| row.get(0))
        .optional()
}

pub(crate) fn set(connection: &Connection, key: &str, value: i64) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO eventlane_meta (key, value) VALUES (?1, ?2) \
             ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        )?
        .execute((key, value))
        .map(drop)
}

pub(crate) fn remove(connection: &Connection, key: &str) -> rusqlite::Result<()> {
    connection.prepare_cached("DELETE FROM eventlane_meta WHERE key = ?1")?.execute([key]).map(drop)
}

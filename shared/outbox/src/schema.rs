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
//!
//! Pending rows and their payload bytes are counted up to a row (`counted_seq`), by those who ask: see
//! [`count`](crate::count). Two triggers take settled rows out of the counted part, whoever settles.

use rusqlite::{Connection, OptionalExtension};

/// This build's schema version, kept in `eventlane_meta` under `schema_version`.
///
/// Version 1 had no counters; version 2 kept `pending_rows` and `pending_bytes` by trigger at each
/// append; in version 3 they hold for the rows up to `counted_seq`.
pub const SCHEMA_VERSION: i64 = 3;

/// Every table of the outbox. What exports or copies an app's data leaves these out, and what drops
/// a cache doesn't touch them: events in them exist nowhere else.
pub const TABLES: [&str; 2] = ["eventlane_outbox", "eventlane_meta"];

/// How `last_reason` of a parked row begins.
pub const PARKED: &str = "parked: ";

/// The pending rows in append order: `seq, event_id, stream, occurred_at_us, payload,
/// attempt_count, next_retry_at_us, last_reason`. Read-only, for views and diagnostics.
pub const PENDING_SQL: &str = "SELECT seq, event_id, stream, occurred_at_us, payload, attempt_count, \
     next_retry_at_us, last_reason FROM eventlane_outbox WHERE acked_at_us IS NULL ORDER BY seq";

/// How many rows are pending. Walks them all; [`Outbox::pending`](crate::Outbox::pending) doesn't.
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
CREATE TRIGGER eventlane_outbox_removed AFTER DELETE ON eventlane_outbox
    WHEN OLD.acked_at_us IS NULL
        AND OLD.seq <= (SELECT value FROM eventlane_meta WHERE key = 'counted_seq')
BEGIN
    UPDATE eventlane_meta SET value = value
        - CASE key WHEN 'pending_rows' THEN 1 ELSE length(CAST(OLD.payload AS BLOB)) END
        WHERE key IN ('pending_bytes', 'pending_rows');
END;
CREATE TRIGGER eventlane_outbox_stamped AFTER UPDATE OF acked_at_us ON eventlane_outbox
    WHEN OLD.acked_at_us IS NULL AND NEW.acked_at_us IS NOT NULL
        AND OLD.seq <= (SELECT value FROM eventlane_meta WHERE key = 'counted_seq')
BEGIN
    UPDATE eventlane_meta SET value = value
        - CASE key WHEN 'pending_rows' THEN 1 ELSE length(CAST(OLD.payload AS BLOB)) END
        WHERE key IN ('pending_bytes', 'pending_rows');
END;
";

/// The DDL of `eventlane_meta`: the schema's version, counters, a server's `Retry-After`, consent.
pub const META_DDL: &str = "CREATE TABLE IF NOT EXISTS eventlane_meta (
    key   TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) WITHOUT ROWID";

/// In `eventlane_meta`: the last row that the two counters hold for; rows after it are counted when
/// somebody asks.
pub(crate) const COUNTED_SEQ_KEY: &str = "counted_seq";
/// In `eventlane_meta`: rows up to there that are pending a verdict.
pub(crate) const PENDING_ROWS_KEY: &str = "pending_rows";
/// In `eventlane_meta`: bytes of their payloads.
pub(crate) const PENDING_BYTES_KEY: &str = "pending_bytes";

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

//! Creates the tables, brings an older file up to date, refuses a newer one.

use std::sync::Arc;

use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::error::OpenError;
use crate::schema::{
    COUNTED_SEQ_KEY, DDL, META_DDL, PENDING_BYTES_KEY, PENDING_ROWS_KEY, SCHEMA_VERSION, get, set,
};

const VERSION_KEY: &str = "schema_version";

/// Step `n` leads from version `n + 1` to the next.
const STEPS: [fn(&Transaction<'_>) -> rusqlite::Result<()>; 2] = [add_counters, count_on_demand];

/// Creates what is missing and migrates what is older, in one transaction. A file that is up to date
/// is only read: no write lock, so a busy file opens too.
pub(crate) fn prepare(connection: &mut Connection) -> Result<(), OpenError> {
    let store = |error| OpenError::Store(Arc::new(error));
    if version(connection).map_err(store)? == Some(SCHEMA_VERSION) {
        return Ok(());
    }
    // The write lock from the start: two processes may create the file at the same moment.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(store)?;
    transaction.execute(META_DDL, []).map_err(store)?;
    match get(&transaction, VERSION_KEY).map_err(store)? {
        Some(found) if found > SCHEMA_VERSION => {
            return Err(OpenError::Newer { found, known: SCHEMA_VERSION });
        }
        Some(found) => migrate(&transaction, found).map_err(store)?,
        None => create(&transaction).map_err(store)?,
    }
    transaction.commit().map_err(store)
}

/// The version the file says it has; `None` when there are no tables yet.
pub(crate) fn version(connection: &Connection) -> rusqlite::Result<Option<i64>> {
    if connection.table_exists(None, "eventlane_meta")? { get(connection, VERSION_KEY) } else { Ok(None) }
}

fn create(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    transaction.execute_batch(DDL)?;
    set(transaction, PENDING_ROWS_KEY, 0)?;
    set(transaction, PENDING_BYTES_KEY, 0)?;
    set(transaction, COUNTED_SEQ_KEY, 0)?;
    set(transaction, VERSION_KEY, SCHEMA_VERSION)
}

fn migrate(transaction: &Transaction<'_>, found: i64) -> rusqlite::Result<()> {
    // Another process may have migrated between our look and our lock: then no step is left.
    let done = usize::try_from(found.saturating_sub(1)).unwrap_or(0);
    for step in STEPS.iter().skip(done) {
        step(transaction)?;
    }
    set(transaction, VERSION_KEY, SCHEMA_VERSION)
}

/// 1 → 2: counters of what is pending.
fn add_counters(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    let (rows, bytes): (i64, i64) = transaction.query_row(
        "SELECT count(*), coalesce(sum(length(CAST(payload AS BLOB))), 0) \
         FROM eventlane_outbox WHERE acked_at_us IS NULL",
        [],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    set(transaction, PENDING_ROWS_KEY, rows)?;
    set(transaction, PENDING_BYTES_KEY, bytes)
}

/// 2 → 3: the counters hold for every row so far, and appends no longer move them.
fn count_on_demand(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    for trigger in ["added", "removed", "stamped"] {
        transaction.execute(&format!("DROP TRIGGER IF EXISTS eventlane_outbox_{trigger}"), [])?;
    }
    let last: i64 =
        transaction.query_row("SELECT coalesce(max(seq), 0) FROM eventlane_outbox", [], |row| row.get(0))?;
    set(transaction, COUNTED_SEQ_KEY, last)?;
    let triggers = DDL.find("CREATE TRIGGER").and_then(|at| DDL.get(at..)).unwrap_or_default();
    transaction.execute_batch(triggers)
}

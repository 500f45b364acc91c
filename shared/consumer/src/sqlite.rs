//! One SQLite file, as the local archive and the local ledger keep it: WAL, every commit synced, one
//! write transaction at a time on a blocking thread.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, Transaction, TransactionBehavior};

/// How long a writer waits for another process's transaction.
const BUSY: Duration = Duration::from_secs(10);

/// Clones share the connection.
#[derive(Clone)]
pub(crate) struct File(Arc<Mutex<Connection>>);

impl File {
    /// Opens or creates the file with these tables.
    pub(crate) fn open(path: &Path, ddl: &str) -> rusqlite::Result<Self> {
        let connection = Connection::open(path)?;
        connection.busy_timeout(BUSY)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.execute_batch(ddl)?;
        Ok(Self(Arc::new(Mutex::new(connection))))
    }

    /// All of `work` or nothing. What went wrong is a text without a payload.
    pub(crate) async fn in_transaction<T, F>(&self, work: F) -> Result<T, String>
    where
        T: Send + 'static,
        F: FnOnce(&Transaction<'_>) -> rusqlite::Result<T> + Send + 'static,
    {
        let connection = Arc::clone(&self.0);
        let blocking = tokio::task::spawn_blocking(move || {
            // A panic inside a transaction rolls it back; the connection stays sound.
            let mut connection = connection.lock().unwrap_or_else(PoisonError::into_inner);
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let done = work(&transaction)?;
            transaction.commit()?;
            Ok(done)
        });
        blocking.await.map_err(|_| "aborted".to_owned())?.map_err(|error: rusqlite::Error| error.to_string())
    }
}

//! The embedded backend: every stream's queue and dead letters in one SQLite file.
//!
//! A real backend, not a mock: leases, receive counts and dead letters survive a restart, and
//! several processes may open the file. Each call is one write transaction, taken at its beginning,
//! on a blocking thread. Enqueued means synced to disk.
//!
//! Queues are provisioned when the file is opened with their streams; a stream that nobody named
//! has no queue, as on AWS.

mod consume;
mod counts;
mod dead;
mod produce;
mod schema;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use eventlane_contracts::{Clock, StreamName};
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior};
use tokio::sync::Notify;

use crate::{OpenError, QueueError};

/// How long a writer waits for another process's transaction.
const BUSY: Duration = Duration::from_secs(10);

/// A queue in one SQLite file. Clones share the connection.
#[derive(Clone)]
pub struct EmbeddedQueue {
    inner: Arc<Inner>,
}

struct Inner {
    path: PathBuf,
    connection: Mutex<Connection>,
    clock: Arc<dyn Clock>,
    enqueued: Notify,
}

impl EmbeddedQueue {
    /// Opens or creates the file and provisions a queue for each stream.
    ///
    /// # Errors
    /// [`OpenError`] when the file can't be opened, is no queue, or was written by a newer build.
    pub fn open<'a>(
        path: &Path,
        streams: impl IntoIterator<Item = &'a StreamName>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, OpenError> {
        let fault = |source| OpenError::Sqlite { path: path.display().to_string(), source };
        let mut connection = Connection::open(path).map_err(fault)?;
        connection.busy_timeout(BUSY).map_err(fault)?;
        schema::prepare(&mut connection, path)?;
        let transaction =
            connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(fault)?;
        for stream in streams {
            transaction
                .execute("INSERT OR IGNORE INTO queues (stream) VALUES (?1)", [stream.as_str()])
                .map_err(fault)?;
        }
        transaction.commit().map_err(fault)?;
        Ok(Self {
            inner: Arc::new(Inner {
                path: path.to_owned(),
                connection: Mutex::new(connection),
                clock,
                enqueued: Notify::new(),
            }),
        })
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// Runs `work` in one write transaction on a blocking thread, after a look whether the stream
    /// has a queue.
    async fn in_transaction<T, F>(&self, stream: &StreamName, work: F) -> Result<T, QueueError>
    where
        T: Send + 'static,
        F: FnOnce(&Transaction<'_>, &str) -> rusqlite::Result<T> + Send + 'static,
    {
        let (inner, stream) = (Arc::clone(&self.inner), stream.to_string());
        let blocking = tokio::task::spawn_blocking(move || {
            // A panic inside a transaction rolls it back; the connection stays sound.
            let mut connection = inner.connection.lock().unwrap_or_else(PoisonError::into_inner);
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(unavailable)?;
            let provisioned = transaction
                .prepare_cached("SELECT 1 FROM queues WHERE stream = ?1")
                .and_then(|mut statement| statement.query_row([&stream], |_| Ok(())).optional())
                .map_err(unavailable)?;
            if provisioned.is_none() {
                return Err(QueueError::Queue(format!("no queue for stream {stream}")));
            }
            let outcome = work(&transaction, &stream).map_err(unavailable)?;
            transaction.commit().map_err(unavailable)?;
            Ok(outcome)
        });
        blocking.await.map_err(|_| QueueError::Unavailable("a queue transaction was aborted".into()))?
    }
}

fn unavailable(error: rusqlite::Error) -> QueueError {
    QueueError::Unavailable(error.to_string())
}

/// `now` plus a duration, in microseconds.
fn after(now_us: i64, duration: Duration) -> i64 {
    now_us.saturating_add(i64::try_from(duration.as_micros()).unwrap_or(i64::MAX))
}

//! An open outbox: two connections to one SQLite file.
//!
//! The writer belongs to appends and short reads, the other to the flush pass, so a pass never
//! makes an append wait longer than one short transaction. Every writing transaction takes the
//! write lock at its begin: a stale snapshot can't be upgraded, whatever the busy timeout.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use eventlane_contracts::{Clock, Registry};
use rusqlite::Connection;

use crate::append::Group;
use crate::error::{FlushError, OpenError};
use crate::observe::{Subscribers, Subscription};
use crate::options::{Durability, OutboxOptions};
use crate::schema;
use crate::stamp::Stamper;

/// How long a statement waits for another connection's transaction. All of ours are short.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// Bytes of the write-ahead log kept after a checkpoint; a burst must not hold the disk for ever.
const WAL_KEPT_BYTES: i64 = 16 * 1_048_576;

/// The outbox of an app. Cheap to clone; all clones are the same outbox.
#[derive(Clone)]
pub struct Outbox {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) path: PathBuf,
    pub(crate) registry: Arc<Registry>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) acked_retention: Duration,
    pub(crate) seed: Option<u64>,
    pub(crate) stamper: Stamper,
    pub(crate) account: Mutex<Option<String>>,
    pub(crate) writer: Mutex<Connection>,
    pub(crate) flusher: Mutex<Connection>,
    pub(crate) group: Group,
    pub(crate) nudges: Subscribers<()>,
    statuses: Subscribers<Status>,
    last_status: Mutex<Option<Status>>,
}

/// The drain signal. No count on purpose: counting walks the backlog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status {
    /// Nothing is pending a verdict. Stamped rows of the acked ledger don't count.
    pub empty: bool,
}

impl Outbox {
    /// Opens the outbox at `path`, creating the file (mode 0600) and its tables where missing.
    ///
    /// The file belongs to the outbox: its pragmas are set here. Several processes may open it.
    ///
    /// # Errors
    /// [`OpenError::File`] when the file can't be created or its mode set, [`OpenError::Newer`]
    /// when a newer build wrote it, [`OpenError::Store`] for anything SQLite says. The file is
    /// never renamed or deleted.
    pub fn open(
        path: impl AsRef<Path>,
        registry: Arc<Registry>,
        options: OutboxOptions,
    ) -> Result<Self, OpenError> {
        let path = path.as_ref().to_owned();
        own(&path).map_err(|error| OpenError::File { path: path.clone(), source: Arc::new(error) })?;
        let mut writer = connect(&path, options.durability)?;
        schema::prepare(&mut writer)?;
        // A settle lost to a power cut is only sent again, so the pass never pays for an fsync.
        let flusher = connect(&path, Durability::Normal)?;
        let inner = Inner {
            path,
            registry,
            stamper: Stamper::new(Arc::clone(&options.clock), options.seed),
            clock: options.clock,
            acked_retention: options.acked_retention,
            seed: options.seed,
            account: Mutex::new(options.account),
            writer: Mutex::new(writer),
            flusher: Mutex::new(flusher),
            group: Group::default(),
            nudges: Subscribers::new(),
            statuses: Subscribers::new(),
            last_status: Mutex::new(None),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The account that rows appended from now on carry; `None` for an app without accounts.
    pub fn set_account(&self, account: Option<String>) {
        *self.inner.account.lock().unwrap_or_else(PoisonError::into_inner) = account;
    }

    /// Whether anything is pending a verdict, at once.
    ///
    /// # Errors
    /// [`FlushError::Store`] when the outbox can't be read.
    pub fn status(&self) -> Result<Status, FlushError> {
        let writer = self.inner.writer();
        Ok(Status { empty: !any_pending(&writer)? })
    }

    /// Hears the status at once and on each change this process sees.
    ///
    /// # Errors
    /// [`FlushError::Store`] when the outbox can't be read.
    pub fn on_status(
        &self,
        hook: impl Fn(&Status) + Send + Sync + 'static,
    ) -> Result<Subscription, FlushError> {
        let status = self.status()?;
        hook(&status);
        *self.inner.last_status.lock().unwrap_or_else(PoisonError::into_inner) = Some(status);
        Ok(self.inner.statuses.add(hook))
    }

    /// How many rows are pending a verdict, for diagnostics: it walks the backlog
    /// ([`PENDING_COUNT_SQL`](crate::PENDING_COUNT_SQL)).
    ///
    /// # Errors
    /// [`FlushError::Store`] when the outbox can't be read.
    pub fn pending(&self) -> Result<u64, FlushError> {
        let count: i64 = self.inner.writer().query_row(schema::PENDING_COUNT_SQL, [], |row| row.get(0))?;
        Ok(u64::try_from(count).unwrap_or(0))
    }

    /// Wakes the driver, as an append does.
    pub fn nudge(&self) {
        self.inner.nudges.tell(&());
    }
}

impl Inner {
    pub(crate) fn writer(&self) -> MutexGuard<'_, Connection> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn flusher(&self) -> MutexGuard<'_, Connection> {
        self.flusher.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells subscribers of a transition; the same status twice is told once.
    pub(crate) fn publish(&self, status: Status) {
        let mut last = self.last_status.lock().unwrap_or_else(PoisonError::into_inner);
        if last.replace(status) == Some(status) {
            return;
        }
        drop(last);
        self.statuses.tell(&status);
    }
}

impl std::fmt::Debug for Outbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Outbox").field("path", &self.inner.path).finish_non_exhaustive()
    }
}

/// Whether any row is pending, of whatever account: one step into each partial index.
pub(crate) fn any_pending(connection: &Connection) -> rusqlite::Result<bool> {
    connection
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM eventlane_outbox \
                 WHERE acked_at_us IS NULL AND next_retry_at_us IS NULL) \
             OR EXISTS (SELECT 1 FROM eventlane_outbox \
                 WHERE acked_at_us IS NULL AND next_retry_at_us IS NOT NULL \
                     AND substr(coalesce(last_reason, ''), 1, 8) <> 'parked: ') \
             OR EXISTS (SELECT 1 FROM eventlane_outbox \
                 WHERE acked_at_us IS NULL AND next_retry_at_us IS NOT NULL \
                     AND substr(coalesce(last_reason, ''), 1, 8) = 'parked: ')",
        )?
        .query_row([], |row| row.get(0))
}

/// Creates the file before SQLite would, readable by nobody else; SQLite gives its side files the
/// same mode.
fn own(path: &Path) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
        options.mode(0o600);
        let file = options.open(path)?;
        if file.metadata()?.permissions().mode() & 0o077 != 0 {
            file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
        }
        Ok(())
    }
    #[cfg(not(unix))]
    options.open(path).map(drop)
}

fn connect(path: &Path, durability: Durability) -> Result<Connection, OpenError> {
    open_connection(path, durability).map_err(|error| OpenError::Store(Arc::new(error)))
}

fn open_connection(path: &Path, durability: Durability) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    connection.pragma_update_and_check(None, "journal_size_limit", WAL_KEPT_BYTES, |_| Ok(()))?;
    match durability {
        Durability::Full => {
            connection.pragma_update(None, "synchronous", "FULL")?;
            // Apple's fsync leaves data in the drive's cache; elsewhere these change nothing.
            connection.pragma_update(None, "fullfsync", true)?;
            connection.pragma_update(None, "checkpoint_fullfsync", true)?;
        }
        Durability::Normal => connection.pragma_update(None, "synchronous", "NORMAL")?,
    }
    Ok(connection)
}

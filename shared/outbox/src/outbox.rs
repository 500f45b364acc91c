//! An open outbox: two connections to one SQLite file.
//!
//! The writer belongs to appends and short reads, the other to the flush pass, so a pass never
//! makes an append wait longer than one short transaction. Every writing transaction takes the
//! write lock at its begin: a stale snapshot can't be upgraded, whatever the busy timeout.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use eventlane_contracts::{Clock, Registry};
use rusqlite::Connection;

use crate::append_async::Committer;
use crate::bounds::Bounds;
use crate::count;
use crate::error::{FlushError, OpenError};
use crate::group::Group;
use crate::observe::Subscribers;
use crate::open::{self, Mode, Opened};
use crate::options::OutboxOptions;
use crate::quarantine::{self, Quarantined};
use crate::stamp::Stamper;
use crate::status::{News, Status};
use crate::why::LaneNote;

/// The outbox of an app. Cheap to clone; all clones are the same outbox.
#[derive(Clone)]
pub struct Outbox {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) path: PathBuf,
    mode: Mode,
    identity: Option<(u64, u64)>,
    quarantined: Option<Quarantined>,
    pub(crate) bounds: Bounds,
    pub(crate) registry: Arc<Registry>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) acked_retention: Duration,
    pub(crate) seed: Option<u64>,
    pub(crate) stamper: Stamper,
    pub(crate) account: Mutex<Option<String>>,
    pub(crate) writer: Mutex<Connection>,
    pub(crate) flusher: Mutex<Connection>,
    pub(crate) group: Group,
    pub(crate) committer: Committer,
    pub(crate) lane_note: Mutex<LaneNote>,
    pub(crate) nudges: Subscribers<()>,
    pub(crate) statuses: Subscribers<Status>,
    pub(crate) news: Mutex<News>,
    /// Commits of this process that added rows; tells a status that was read before one from one after.
    pub(crate) commits: AtomicU64,
}

impl Outbox {
    /// Opens the outbox at `path`, creating the file (mode 0600) and its tables where missing.
    ///
    /// The file belongs to the outbox: its pragmas are set here, and when it is damaged it is put aside
    /// and a fresh one begun; [`quarantined`](Self::quarantined) tells. Several processes may open it.
    ///
    /// # Errors
    /// [`OpenError::File`] when the file can't be created, renamed or its mode set,
    /// [`OpenError::Newer`] when a newer build wrote it, [`OpenError::Store`] for anything SQLite says.
    /// The file is left as it is then.
    pub fn open(
        path: impl AsRef<Path>,
        registry: Arc<Registry>,
        options: OutboxOptions,
    ) -> Result<Self, OpenError> {
        let opened = open::owned(path.as_ref(), options.durability, &*options.clock)?;
        Ok(Self::new(opened, registry, options))
    }

    /// Opens the outbox inside the app's own database, which must be there: two tables are created in
    /// it where missing, nothing is renamed, and no pragma is touched. Durability is the app's matter:
    /// this crate's own connections keep SQLite's default, and [`OutboxOptions::durability`] says
    /// nothing. For events that go with the app's own changes see [`append_in`](Self::append_in).
    ///
    /// # Errors
    /// [`OpenError::File`] when the file isn't there, [`OpenError::Newer`] when a newer build wrote
    /// the tables, [`OpenError::Store`] for anything SQLite says, damage too.
    pub fn embed(
        path: impl AsRef<Path>,
        registry: Arc<Registry>,
        options: OutboxOptions,
    ) -> Result<Self, OpenError> {
        Ok(Self::new(open::embedded(path.as_ref())?, registry, options))
    }

    fn new(opened: Opened, registry: Arc<Registry>, options: OutboxOptions) -> Self {
        let inner = Inner {
            path: opened.path,
            mode: opened.mode,
            identity: opened.identity,
            quarantined: opened.quarantined,
            registry,
            stamper: Stamper::new(Arc::clone(&options.clock), options.seed),
            clock: options.clock,
            acked_retention: options.acked_retention,
            bounds: options.bounds,
            seed: options.seed,
            account: Mutex::new(options.account),
            writer: Mutex::new(opened.writer),
            flusher: Mutex::new(opened.flusher),
            group: Group::default(),
            committer: Committer::default(),
            lane_note: Mutex::default(),
            nudges: Subscribers::new(),
            statuses: Subscribers::new(),
            news: Mutex::default(),
            commits: AtomicU64::new(0),
        };
        Self { inner: Arc::new(inner) }
    }

    /// The loss signal: the damaged file that this opening put aside, if it did.
    #[must_use]
    pub fn quarantined(&self) -> Option<&Quarantined> {
        self.inner.quarantined.as_ref()
    }

    /// The account that rows appended from now on carry: `None` for an app without accounts, `""` for
    /// nobody signed in, whose rows wait for [`claim`](Self::claim) or [`discard`](Self::discard).
    pub fn set_account(&self, account: Option<String>) {
        *self.inner.account.lock().unwrap_or_else(PoisonError::into_inner) = account;
    }

    /// How many rows are pending a verdict. Walks such as were appended since the last pass or question,
    /// not the backlog.
    ///
    /// # Errors
    /// [`FlushError::Store`] when the outbox can't be read.
    pub fn pending(&self) -> Result<u64, FlushError> {
        let mut writer = self.inner.writer();
        let pending = match self.inner.mode {
            Mode::Owned => count::pending_and_count_on(&mut writer),
            // The app may ask inside its own transaction, which a write of ours would wait for.
            Mode::Embedded => count::pending(&writer),
        };
        Ok(pending?.rows)
    }

    /// To be called after the commit of events that were appended in the app's own transaction: tells
    /// the status and wakes the driver, as any other append does.
    pub fn nudge(&self) {
        // What can't be read now is told by the pass.
        drop(self.inner.refresh_status());
        self.inner.wake();
    }
}

impl Inner {
    pub(crate) fn writer(&self) -> MutexGuard<'_, Connection> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn flusher(&self) -> MutexGuard<'_, Connection> {
        self.flusher.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the driver.
    pub(crate) fn wake(&self) {
        self.nudges.tell(&());
    }

    /// Refuses to store in a file that is no longer at its path: nobody would ever read it again.
    pub(crate) fn check_in_place(&self) -> rusqlite::Result<()> {
        if self.identity.is_none() || open::identity(&self.path) == self.identity {
            return Ok(());
        }
        let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_READONLY_DBMOVED);
        let text = "outbox file was moved or replaced while open: open it again".to_owned();
        Err(rusqlite::Error::SqliteFailure(code, Some(text)))
    }

    /// Has a file of ours checked at its next opening when a statement found it damaged.
    pub(crate) fn suspect(&self, error: &rusqlite::Error) {
        if self.mode == Mode::Owned && quarantine::is_damage(error) {
            quarantine::mark_suspect(&self.path);
        }
    }
}

impl std::fmt::Debug for Outbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Outbox").field("path", &self.inner.path).finish_non_exhaustive()
    }
}

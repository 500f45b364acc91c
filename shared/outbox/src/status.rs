//! The drain signal: whether anything is pending.
//!
//! Invariants: it is told on each transition, in order, and the last word is true: what was read before
//! a commit of this process is read again. Hooks run without a lock, and may append or subscribe.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;

use crate::error::FlushError;
use crate::observe::Subscription;
use crate::outbox::{Inner, Outbox};

/// The drain signal. No count on purpose: counting walks the backlog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status {
    /// Nothing is pending a verdict. Stamped rows of the acked ledger don't count.
    pub empty: bool,
}

/// What was last told, and what is still to be told, in order.
#[derive(Default)]
pub(crate) struct News {
    last: Option<Status>,
    queue: VecDeque<Status>,
    is_telling: bool,
}

/// Why a status is told.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Because {
    /// It may have changed.
    Changed,
    /// There is a new subscriber, who may have missed a change.
    Subscribed,
}

impl Outbox {
    /// Whether anything is pending a verdict, at once.
    ///
    /// # Errors
    /// [`FlushError::Store`] when the outbox can't be read.
    pub fn status(&self) -> Result<Status, FlushError> {
        let writer = self.inner.writer();
        Ok(Status { empty: !any_pending(&writer)? })
    }

    /// Hears the status at once and on each change this process sees; what another process changes is
    /// seen by the next pass.
    ///
    /// # Errors
    /// [`FlushError::Store`] when the outbox can't be read.
    pub fn on_status(
        &self,
        hook: impl Fn(&Status) + Send + Sync + 'static,
    ) -> Result<Subscription, FlushError> {
        let told = Mutex::new(None);
        let hook = Arc::new(move |status: &Status| {
            let last = told.lock().unwrap_or_else(PoisonError::into_inner).replace(*status);
            if last != Some(*status) {
                hook(status);
            }
        });
        hook(&self.status()?);
        let subscription = self.inner.statuses.add(move |status| hook(status));
        // A change in between was told to the others only.
        self.inner.refresh(Because::Subscribed, || self.inner.writer())?;
        Ok(subscription)
    }
}

impl Inner {
    fn news(&self) -> MutexGuard<'_, News> {
        self.news.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Rows were stored by this process.
    pub(crate) fn stored(&self) {
        self.commits.fetch_add(1, Ordering::SeqCst);
        if self.news().last == Some(Status { empty: false }) {
            return;
        }
        // A pass may have sent them by now. What can't be read is told by the next pass.
        drop(self.refresh(Because::Changed, || self.writer()));
    }

    /// Tells how it is now.
    pub(crate) fn refresh_status(&self) -> rusqlite::Result<()> {
        self.refresh(Because::Changed, || self.flusher())
    }

    fn refresh<'a>(
        &self,
        because: Because,
        connection: impl Fn() -> MutexGuard<'a, Connection>,
    ) -> rusqlite::Result<()> {
        loop {
            let commits = self.commits.load(Ordering::SeqCst);
            let status = Status { empty: !any_pending(&connection())? };
            if self.publish(status, commits, because) {
                return Ok(());
            }
        }
    }

    /// Tells subscribers; `false` when the status was read before the latest commit.
    fn publish(&self, status: Status, read_at: u64, because: Because) -> bool {
        let mut news = self.news();
        if read_at != self.commits.load(Ordering::SeqCst) {
            return false;
        }
        if news.last.replace(status) == Some(status) && because == Because::Changed {
            return true;
        }
        news.queue.push_back(status);
        if news.is_telling {
            return true;
        }
        news.is_telling = true;
        drop(news);
        let telling = Telling(self);
        while let Some(status) = telling.next() {
            self.statuses.tell(&status);
        }
        true
    }
}

/// The one thread that tells; ends even when a hook panics.
struct Telling<'a>(&'a Inner);

impl Telling<'_> {
    /// What is next to be told. With nothing left, telling has ended before anybody else can add to it.
    fn next(&self) -> Option<Status> {
        let mut news = self.0.news();
        let next = news.queue.pop_front();
        news.is_telling = next.is_some();
        next
    }
}

impl Drop for Telling<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.news().is_telling = false;
        }
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

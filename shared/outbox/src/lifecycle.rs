//! The end of an outbox, and its copy: destroy and backup.

use std::path::Path;
use std::sync::Arc;

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use crate::error::{BackupError, DestroyError};
use crate::open::create_private;
use crate::outbox::Outbox;

/// Whether pending events may be lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pending {
    /// Refuse while any row is pending.
    Refuse,
    /// Delete pending rows too: their events are lost.
    Lose,
}

impl Outbox {
    /// Deletes all rows, in one transaction; how many. Tables, file and numbering stay: another handle
    /// may hold the file, and a number is never given twice. Settings of the lane (a server's
    /// `Retry-After`, consent) stay too.
    ///
    /// # Errors
    /// [`DestroyError::Pending`] while rows are pending, with how many of which stream, unless they
    /// may be lost; [`DestroyError::Store`] for anything SQLite says. Nothing is deleted then.
    pub fn destroy(&self, pending: Pending) -> Result<u64, DestroyError> {
        let mut writer = self.inner.writer();
        let transaction = writer.transaction_with_behavior(TransactionBehavior::Immediate)?;
        if pending == Pending::Refuse {
            let blocking = by_stream(&transaction)?;
            if !blocking.is_empty() {
                return Err(DestroyError::Pending { streams: blocking });
            }
        }
        let count = transaction.execute("DELETE FROM eventlane_outbox", [])? as u64;
        transaction.commit()?;
        drop(writer);
        self.inner.refresh_status()?;
        Ok(count)
    }

    /// Copies the file to `to` while everything goes on, through SQLite; in embedded mode that is the
    /// app's whole file. A restored copy simply flushes: the server sees the same event ids again.
    ///
    /// # Errors
    /// [`BackupError::File`] when `to` exists already or can't be created, [`BackupError::Store`] for
    /// anything SQLite says; no half-made copy is left then.
    pub fn backup(&self, to: impl AsRef<Path>) -> Result<(), BackupError> {
        let to = to.as_ref();
        let file = |error| BackupError::File { path: to.to_owned(), source: Arc::new(error) };
        create_private(to).map_err(file)?;
        self.copy(to).inspect_err(|_| {
            // It was made by this very call, and is no backup.
            drop(std::fs::remove_file(to));
        })?;
        Ok(())
    }

    fn copy(&self, to: &Path) -> rusqlite::Result<()> {
        // A connection of its own: neither appends nor a pass wait for the copy.
        let from = Connection::open_with_flags(&self.inner.path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        from.busy_timeout(crate::open::BUSY_TIMEOUT)?;
        let mut to = Connection::open(to)?;
        let backup = rusqlite::backup::Backup::new(&from, &mut to)?;
        // All pages in one step: one read transaction, which no writer can make begin again.
        backup.step(-1).map(drop)
    }
}

/// How many rows are pending of which stream, sorted by name.
pub(crate) fn by_stream(connection: &Connection) -> rusqlite::Result<Vec<(String, u64)>> {
    let mut statement = connection.prepare(
        "SELECT stream, count(*) FROM eventlane_outbox WHERE acked_at_us IS NULL \
         GROUP BY stream ORDER BY stream",
    )?;
    statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

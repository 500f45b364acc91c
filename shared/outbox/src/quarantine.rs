//! A damaged file of ours is put aside, whole, and a fresh one begun: a queue that can't be read must
//! not keep the app from starting. Never because a file can't be opened, read or written now.
//!
//! Damage is found at the opening, or later by a statement. Then the file is marked, and checked as a
//! whole at the next opening: a check costs time that grows with the backlog.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::{Connection, ErrorCode};

use crate::error::{OpenError, StoreError};
use crate::open::beside;
use crate::schema;

/// In `eventlane_meta` of the fresh file: when the damaged one was put aside.
pub(crate) const QUARANTINED_KEY: &str = "quarantined_at_us";

/// A damaged file that was put aside: the loss signal. What was pending in it is in no outbox now.
#[derive(Debug, Clone)]
pub struct Quarantined {
    /// Where the damaged file is now; its write-ahead log beside it, with `-wal`.
    pub path: PathBuf,
    /// When, unix microseconds.
    pub at_us: i64,
    /// What SQLite said.
    pub cause: StoreError,
}

/// Whether the file itself is damaged. Anything else (locked away, no permission, a failing disk, no
/// space, no memory) passes, and says nothing about what is in it.
pub(crate) fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

/// Whether a journal was gone before it could be deleted: another opening has put the file aside meanwhile.
pub(crate) fn was_put_aside_meanwhile(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error().map(|error| error.extended_code);
    code == Some(rusqlite::ffi::SQLITE_IOERR_DELETE_NOENT)
}

/// Held while a file is put aside, so that no other process does it to the fresh one.
pub(crate) struct Lock(#[expect(dead_code, reason = "closing the file releases the lock")] File);

impl Lock {
    pub(crate) fn take(outbox: &Path) -> Result<Self, OpenError> {
        let path = beside(outbox, "-quarantine");
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false);
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt as _;
            options.mode(0o600);
        }
        let file = options.open(&path).and_then(|file| match file.lock() {
            Err(error) if error.kind() != std::io::ErrorKind::Unsupported => Err(error),
            _ => Ok(file),
        });
        file.map(Self).map_err(|error| OpenError::File { path, source: Arc::new(error) })
    }
}

/// Renames the file and its log. The log first: a fresh file must never meet it.
pub(crate) fn put_aside(outbox: &Path, now_us: i64, cause: &StoreError) -> Result<Quarantined, OpenError> {
    let mut aside = beside(outbox, &format!(".corrupt-{now_us}"));
    // The clock may have stood still or jumped back: what was put aside before stays.
    for n in 1.. {
        if !aside.exists() {
            break;
        }
        aside = beside(outbox, &format!(".corrupt-{now_us}-{n}"));
    }
    let rename = |from: PathBuf, to: PathBuf| match std::fs::rename(&from, to) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(OpenError::File { path: from, source: Arc::new(error) })
        }
        _ => Ok(()),
    };
    rename(beside(outbox, "-wal"), beside(&aside, "-wal"))?;
    rename(beside(outbox, "-shm"), beside(&aside, "-shm"))?;
    rename(outbox.to_owned(), aside.clone())?;
    drop(std::fs::remove_file(beside(outbox, SUSPECT)));
    tracing::error!(path = %aside.display(), %cause, "outbox file was damaged and is put aside, with all that was pending in it");
    Ok(Quarantined { path: aside, at_us: now_us, cause: Arc::clone(cause) })
}

/// Writes the loss down where diagnostics find it.
pub(crate) fn note(connection: &Connection, aside: &Quarantined) -> Result<(), OpenError> {
    schema::set(connection, QUARANTINED_KEY, aside.at_us).map_err(|error| OpenError::Store(Arc::new(error)))
}

/// The mark of a file that a statement found damaged.
const SUSPECT: &str = "-suspect";

/// Marks the file to be checked at its next opening.
pub(crate) fn mark_suspect(outbox: &Path) {
    if let Err(error) = File::create(beside(outbox, SUSPECT)) {
        tracing::warn!(%error, "damaged outbox file can't be marked");
    }
}

/// Checks a marked file as a whole.
pub(crate) fn judge_suspect(outbox: &Path, connection: &Connection) -> rusqlite::Result<()> {
    let mark = beside(outbox, SUSPECT);
    if !mark.exists() {
        return Ok(());
    }
    let verdict: String = connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
    if verdict != "ok" {
        let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT);
        return Err(rusqlite::Error::SqliteFailure(code, Some("integrity check failed".to_owned())));
    }
    drop(std::fs::remove_file(mark));
    Ok(())
}

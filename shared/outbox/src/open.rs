//! Opening: an owned file, whose mode and pragmas are ours, or the app's own file, of which nothing
//! but two tables is.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use eventlane_contracts::Clock;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::error::OpenError;
use crate::migrate::prepare;
use crate::options::Durability;
use crate::quarantine::{self, Quarantined};

/// How long a statement waits for another connection's transaction. All of ours are short.
pub(crate) const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// Bytes of the write-ahead log kept after a checkpoint; a burst must not hold the disk for ever.
const WAL_KEPT_BYTES: i64 = 16 * 1_048_576;

/// Whose file it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Owned,
    Embedded,
}

pub(crate) struct Opened {
    /// Without links, and the same whatever the process's working folder becomes.
    pub(crate) path: PathBuf,
    pub(crate) mode: Mode,
    pub(crate) writer: Connection,
    pub(crate) flusher: Connection,
    pub(crate) quarantined: Option<Quarantined>,
    /// What file it was, to notice one that took its place.
    pub(crate) identity: Option<(u64, u64)>,
}

/// Opens a file of ours, creating it where missing, putting it aside where it is damaged.
pub(crate) fn owned(path: &Path, durability: Durability, clock: &dyn Clock) -> Result<Opened, OpenError> {
    let file = |error| OpenError::File { path: path.to_owned(), source: Arc::new(error) };
    let path = find(path).map_err(file)?;
    let mut quarantined = None;
    let (writer, flusher) = match try_owned(&path, durability) {
        Err(OpenError::Store(error))
            if quarantine::is_damage(&error) || quarantine::was_put_aside_meanwhile(&error) =>
        {
            let lock = quarantine::Lock::take(&path)?;
            // Whoever had the lock before may have put the file aside already.
            let again = match try_owned(&path, durability) {
                Err(OpenError::Store(error)) if quarantine::is_damage(&error) => {
                    let aside = quarantine::put_aside(&path, clock.now_us(), &error)?;
                    own(&path).map_err(file)?;
                    let connections = try_owned(&path, durability)?;
                    quarantine::note(&connections.0, &aside)?;
                    quarantined = Some(aside);
                    Ok(connections)
                }
                outcome => outcome,
            };
            drop(lock);
            again?
        }
        outcome => outcome?,
    };
    let identity = identity(&path);
    Ok(Opened { path, mode: Mode::Owned, writer, flusher, quarantined, identity })
}

/// The file's place without links, made where missing. Another opener may be putting a damaged file
/// aside at this very moment, so that what was just made is gone again.
fn find(path: &Path) -> std::io::Result<PathBuf> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut tries = if folder.is_none_or(Path::exists) { 100 } else { 1 };
    loop {
        tries -= 1;
        match own(path).and_then(|()| std::fs::canonicalize(path)) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && tries > 0 => {
                std::thread::sleep(Duration::from_millis(5));
            }
            outcome => return outcome,
        }
    }
}

/// Opens the app's file, which must be there: no pragma of it is touched.
pub(crate) fn embedded(path: &Path) -> Result<Opened, OpenError> {
    let file = |error| OpenError::File { path: path.to_owned(), source: Arc::new(error) };
    let path = std::fs::canonicalize(path).map_err(file)?;
    let connect = || {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&path, flags)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        Ok(connection)
    };
    let connect = || connect().map_err(|error: rusqlite::Error| OpenError::Store(Arc::new(error)));
    let mut writer = connect()?;
    prepare(&mut writer)?;
    let flusher = connect()?;
    let identity = identity(&path);
    Ok(Opened { path, mode: Mode::Embedded, writer, flusher, quarantined: None, identity })
}

fn try_owned(path: &Path, durability: Durability) -> Result<(Connection, Connection), OpenError> {
    let flushes_through = durability == Durability::Full;
    let connect = |durability| {
        patiently(|| connect(path, durability, flushes_through))
            .map_err(|error: rusqlite::Error| OpenError::Store(Arc::new(error)))
    };
    let mut writer = connect(durability)?;
    quarantine::judge_suspect(path, &writer).map_err(|error| OpenError::Store(Arc::new(error)))?;
    prepare(&mut writer)?;
    // A settle lost to a power cut is only sent again, so the pass never pays for an fsync.
    Ok((writer, connect(Durability::Normal)?))
}

/// Two that create a file at the same moment may meet at the change of the journal mode, where SQLite
/// doesn't wait by itself.
pub(crate) fn patiently<T>(connect: impl Fn() -> rusqlite::Result<T>) -> rusqlite::Result<T> {
    let deadline = Instant::now() + BUSY_TIMEOUT;
    loop {
        match connect() {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && Instant::now() < deadline =>
            {
                std::thread::sleep(Duration::from_millis(5));
            }
            outcome => return outcome,
        }
    }
}

pub(crate) fn connect(
    path: &Path,
    durability: Durability,
    flushes_through: bool,
) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    connection.pragma_update_and_check(None, "journal_size_limit", WAL_KEPT_BYTES, |_| Ok(()))?;
    if flushes_through {
        // Apple's fsync leaves data in the drive's cache; elsewhere these change nothing. Whichever
        // connection moves the log into the file has to.
        connection.pragma_update(None, "checkpoint_fullfsync", true)?;
    }
    match durability {
        Durability::Full => {
            connection.pragma_update(None, "synchronous", "FULL")?;
            connection.pragma_update(None, "fullfsync", true)?;
        }
        Durability::Normal => connection.pragma_update(None, "synchronous", "NORMAL")?,
    }
    Ok(connection)
}

/// Creates the file before SQLite would, readable by nobody else; SQLite gives its side files the
/// same mode. A file of old loses what others may do with it, and nothing else.
fn own(path: &Path) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
        options.mode(0o600);
        let file = options.open(path)?;
        let mode = file.metadata()?.permissions().mode();
        if mode & 0o077 != 0 {
            file.set_permissions(std::fs::Permissions::from_mode(mode & 0o700))?;
        }
        Ok(())
    }
    #[cfg(not(unix))]
    options.open(path).map(drop)
}

/// Creates a new file that nobody else can read.
pub(crate) fn create_private(path: &Path) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    options.open(path).map(drop)
}

/// A file beside the outbox's.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Which file stands at the path; `None` where the system doesn't say.
#[cfg(unix)]
pub(crate) fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

/// Which file stands at the path: elsewhere an open file can't be replaced.
#[cfg(not(unix))]
pub(crate) fn identity(_path: &Path) -> Option<(u64, u64)> {
    None
}

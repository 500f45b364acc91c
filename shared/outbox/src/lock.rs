//! The lock of a pass: of several processes and handles on one file, one flushes at a time.
//!
//! An advisory lock of the operating system on a side file, held for a pass. It dies with the process,
//! and is let go of when the app is suspended: a process that sleeps must not keep others from
//! flushing. Without it rows would be sent twice, not lost.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::FlushError;
use crate::open::beside;

/// Where a core's pass keeps its lock, so that a suspension can take it away.
#[derive(Clone, Default)]
pub(crate) struct PassLock(Arc<Mutex<Slot>>);

#[derive(Default)]
struct Slot {
    file: Option<File>,
    is_suspended: bool,
    /// Which taking the slot is at; what was taken before is held no more.
    turn: u64,
}

/// Whose lock it is.
pub(crate) enum Taken {
    Here(Held),
    Elsewhere,
    Suspended,
}

/// A lock that was taken. Dropping it lets go.
pub(crate) struct Held {
    lock: PassLock,
    turn: u64,
}

impl PassLock {
    fn slot(&self) -> MutexGuard<'_, Slot> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn try_take(&self, outbox: &Path) -> Result<Taken, FlushError> {
        let mut slot = self.slot();
        if slot.is_suspended {
            return Ok(Taken::Suspended);
        }
        let path = beside(outbox, "-flush");
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt as _;
            options.mode(0o600);
        }
        let outcome = options.open(&path).map_err(TryLockError::Error).and_then(|file| {
            file.try_lock()?;
            Ok(file)
        });
        slot.file = match outcome {
            Ok(file) => Some(file),
            Err(TryLockError::WouldBlock) => return Ok(Taken::Elsewhere),
            // A file system without locks: better twice than never.
            Err(TryLockError::Error(error)) if error.kind() == std::io::ErrorKind::Unsupported => None,
            Err(TryLockError::Error(error)) => {
                return Err(FlushError::Lock { path, source: Arc::new(error) });
            }
        };
        slot.turn += 1;
        Ok(Taken::Here(Held { lock: self.clone(), turn: slot.turn }))
    }

    /// Takes the lock from whoever holds it, and gives it to nobody until [`resume`](Self::resume).
    pub(crate) fn suspend(&self) {
        let mut slot = self.slot();
        slot.is_suspended = true;
        slot.let_go();
    }

    pub(crate) fn resume(&self) {
        self.slot().is_suspended = false;
    }
}

impl Slot {
    /// Unlocks by word: a child that this process is just starting may hold a copy of the file for a
    /// moment, and closing alone would leave the lock with it.
    fn let_go(&mut self) {
        self.turn += 1;
        if let Some(file) = self.file.take() {
            // Closing is what is left, and follows.
            drop(file.unlock());
        }
    }
}

impl Held {
    /// Whether no suspension took it away.
    pub(crate) fn is_held(&self) -> bool {
        self.lock.slot().turn == self.turn
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut slot = self.lock.slot();
        if slot.turn == self.turn {
            slot.let_go();
        }
    }
}

//! Every error of this crate. None carries a payload, a token or a claim.

use std::path::PathBuf;
use std::sync::Arc;

use eventlane_contracts::PayloadFault;
use eventlane_contracts::limits::PAYLOAD_BYTES;
use rusqlite::ErrorCode;

use crate::bounds::Bound;

/// What SQLite said. Cloned by all callers that shared one commit or one pass.
pub type StoreError = Arc<rusqlite::Error>;

/// Why an outbox can't be opened. The file is left as it is.
#[derive(Debug, Clone, thiserror::Error)]
pub enum OpenError {
    /// The file, or one beside it, can't be created or renamed, or its mode can't be set.
    #[error("outbox file {path} can't be prepared: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        #[source]
        source: Arc<std::io::Error>,
    },
    /// A newer build wrote the file; this one might damage it.
    #[error("outbox has schema version {found}, this build knows up to {known}: update the app")]
    Newer {
        /// The file's version.
        found: i64,
        /// This build's version.
        known: i64,
    },
    /// SQLite can't open or prepare it: locked away, not a database, damaged, disk full.
    #[error("outbox can't be opened: {0}")]
    Store(#[source] StoreError),
}

impl OpenError {
    /// A stable word for metrics and logs.
    #[must_use]
    pub fn tag(&self) -> &'static str {
        match self {
            Self::File { .. } => "file",
            Self::Newer { .. } => "newer",
            Self::Store(_) => "store",
        }
    }

    /// Whether the same call may succeed later with nothing done: a device that is locked, a file held
    /// by another, a disk that is full. A newer file needs a newer app, a damaged one of the app's own
    /// a repair.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::File { .. } => true,
            Self::Newer { .. } => false,
            Self::Store(error) => !matches!(
                error.sqlite_error_code(),
                Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
            ),
        }
    }
}

/// Why an event was not appended. Nothing is stored then.
#[derive(Debug, Clone, thiserror::Error)]
pub enum AppendError {
    /// The registry has no streams at all.
    #[error("no streams are registered, so nothing can be appended")]
    NoStreams,
    /// The registry doesn't know the stream.
    #[error("stream {stream:?} is unknown; known are {}", .known.join(", "))]
    UnknownStream {
        /// The name as given, cut to 64 bytes.
        stream: String,
        /// Every registered name, sorted.
        known: Vec<String>,
    },
    /// The stream's contract, or JSON itself, refuses the payload.
    #[error("stream {stream}: {fault}")]
    Invalid {
        /// The stream.
        stream: String,
        /// The place and the rule broken.
        #[source]
        fault: PayloadFault,
    },
    /// The compacted payload, or what its type makes of it, is too large.
    #[error("stream {stream}: payload has {actual} bytes, the limit is {limit}")]
    TooLarge {
        /// The stream.
        stream: String,
        /// Bytes it has.
        actual: usize,
        /// Bytes it may have.
        limit: usize,
    },
    /// The user's consent is withdrawn.
    #[error("consent is withdrawn, so nothing is stored")]
    ConsentWithdrawn,
    /// A bound of what may be pending is reached.
    #[error("outbox holds {pending} of {limit} {bound}: flush, discard, or raise the bound")]
    Full {
        /// Which.
        bound: Bound,
        /// The bound.
        limit: u64,
        /// What is pending already.
        pending: u64,
    },
    /// The event was fine but couldn't be committed: disk full, locked for too long, damaged.
    #[error("event couldn't be stored: {0}")]
    Store(#[source] StoreError),
}

impl AppendError {
    pub(crate) fn of(stream: &str, fault: PayloadFault) -> Self {
        match fault {
            PayloadFault::TooLarge { actual } => {
                Self::TooLarge { stream: stream.to_owned(), actual, limit: PAYLOAD_BYTES }
            }
            fault => Self::Invalid { stream: stream.to_owned(), fault },
        }
    }

    /// A stable word for metrics and logs.
    #[must_use]
    pub fn tag(&self) -> &'static str {
        match self {
            Self::NoStreams => "no_streams",
            Self::UnknownStream { .. } => "unknown_stream",
            Self::Invalid { .. } => "invalid",
            Self::TooLarge { .. } => "too_large",
            Self::ConsentWithdrawn => "consent_withdrawn",
            Self::Full { .. } => "full",
            Self::Store(_) => "store",
        }
    }

    /// Whether the same append may succeed later: the store's trouble passes, and a full outbox.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Store(_) | Self::Full { .. } => true,
            Self::NoStreams
            | Self::UnknownStream { .. }
            | Self::Invalid { .. }
            | Self::TooLarge { .. }
            | Self::ConsentWithdrawn => false,
        }
    }
}

/// Why a pass couldn't go on. What was settled before stays settled; the rest stays in the outbox.
///
/// Trouble with the network or the server is no error but part of the report.
#[derive(Debug, Clone, thiserror::Error)]
pub enum FlushError {
    /// The outbox couldn't be read or a verdict couldn't be recorded: disk full, locked, damaged.
    #[error("outbox couldn't be read or settled: {0}")]
    Store(#[source] StoreError),
    /// The side file that keeps passes of several processes apart can't be used.
    #[error("flush lock {path} can't be used: {source}")]
    Lock {
        /// The side file.
        path: PathBuf,
        /// What the operating system said.
        #[source]
        source: Arc<std::io::Error>,
    },
    /// The pass this call shared ended in a panic of a transport, a token source or a hook.
    #[error("the pass this call waited for panicked")]
    Panicked,
}

impl FlushError {
    /// A stable word for metrics and logs.
    #[must_use]
    pub fn tag(&self) -> &'static str {
        match self {
            Self::Store(_) => "store",
            Self::Lock { .. } => "lock",
            Self::Panicked => "panicked",
        }
    }
}

impl From<rusqlite::Error> for FlushError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(Arc::new(error))
    }
}

/// Why an outbox wasn't destroyed. Nothing is deleted then.
#[derive(Debug, Clone, thiserror::Error)]
pub enum DestroyError {
    /// Events are pending.
    #[error("events are pending ({}): flush or discard them, or say that they may be lost", list(.streams))]
    Pending {
        /// How many of which stream, sorted by name.
        streams: Vec<(String, u64)>,
    },
    /// SQLite can't: disk full, locked, damaged.
    #[error("outbox couldn't be destroyed: {0}")]
    Store(#[source] StoreError),
}

fn list(streams: &[(String, u64)]) -> String {
    streams.iter().map(|(stream, rows)| format!("{stream}: {rows}")).collect::<Vec<_>>().join(", ")
}

impl DestroyError {
    /// A stable word for metrics and logs.
    #[must_use]
    pub fn tag(&self) -> &'static str {
        match self {
            Self::Pending { .. } => "pending",
            Self::Store(_) => "store",
        }
    }
}

impl From<rusqlite::Error> for DestroyError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(Arc::new(error))
    }
}

/// Why there is no backup.
#[derive(Debug, Clone, thiserror::Error)]
pub enum BackupError {
    /// The target exists already, or can't be created.
    #[error("backup {path} can't be created: {source}")]
    File {
        /// The target.
        path: PathBuf,
        /// What the operating system said.
        #[source]
        source: Arc<std::io::Error>,
    },
    /// SQLite can't read or write: disk full, locked, damaged.
    #[error("outbox couldn't be copied: {0}")]
    Store(#[source] StoreError),
}

impl BackupError {
    /// A stable word for metrics and logs.
    #[must_use]
    pub fn tag(&self) -> &'static str {
        match self {
            Self::File { .. } => "file",
            Self::Store(_) => "store",
        }
    }
}

impl From<rusqlite::Error> for BackupError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(Arc::new(error))
    }
}

/// Every offender of a tuning or a URL, in one error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the flush can't be set up:\n- {}", .0.join("\n- "))]
pub struct ConfigError(pub(crate) Vec<String>);

impl ConfigError {
    /// The offenders, each one line.
    #[must_use]
    pub fn offenders(&self) -> &[String] {
        &self.0
    }

    /// A stable word for metrics and logs.
    #[must_use]
    pub fn tag(&self) -> &'static str {
        "config"
    }
}

/// Why there is no token now. The text goes to reports and logs: never put a token or a claim in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no token: {0}")]
pub struct TokenError(pub String);

/// Why a request got no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TransportError {
    /// The name doesn't resolve, or nobody listens there.
    #[error("server can't be reached")]
    Connect,
    /// The connection or the whole exchange took too long.
    #[error("server took too long")]
    Timeout,
    /// The secure connection couldn't be set up.
    #[error("secure connection failed")]
    Tls,
    /// The connection broke, or the answer isn't HTTP.
    #[error("connection broke")]
    Broken,
    /// The answer is larger than any answer of the lane.
    #[error("answer is too large")]
    TooLarge,
}

impl TransportError {
    /// A stable word for metrics and logs.
    #[must_use]
    pub fn tag(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::Timeout => "timeout",
            Self::Tls => "tls",
            Self::Broken => "broken",
            Self::TooLarge => "too_large",
        }
    }
}

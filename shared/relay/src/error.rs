//! What can go wrong, beside rows, which answer for themselves.

use crate::entry::{PAYLOAD_BYTES, TOPIC_BYTES};

/// Why an entry was refused. The database was not touched: the caller's transaction is as it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EntryError {
    /// The topic is empty or only white space.
    #[error("the topic is empty; give 1 to {TOPIC_BYTES} bytes")]
    EmptyTopic,
    /// The topic is longer than every dialect's key can hold.
    #[error("the topic has {actual} bytes, the limit is {TOPIC_BYTES}")]
    TopicTooLong {
        /// Its bytes.
        actual: usize,
    },
    /// The payload is larger than a queue message could be.
    #[error("the payload has {actual} bytes, the limit is {PAYLOAD_BYTES}")]
    PayloadTooLarge {
        /// Its bytes.
        actual: usize,
    },
    /// A raw NUL character, which PostgreSQL refuses in the middle of a transaction and SQLite cuts at.
    #[error("the {what} holds a NUL character at byte {at}; write it as an escape or leave it out")]
    Nul {
        /// `topic` or `payload`.
        what: &'static str,
        /// Its place.
        at: usize,
    },
    /// The lane would never take it: the writer knows the streams.
    #[error("the lane would not take it: {0}")]
    Lane(#[from] crate::LaneFault),
}

impl EntryError {
    /// A stable word for metrics and logs.
    #[must_use]
    pub fn tag(&self) -> &'static str {
        match self {
            Self::EmptyTopic => "empty_topic",
            Self::TopicTooLong { .. } => "topic_too_long",
            Self::PayloadTooLarge { .. } => "payload_too_large",
            Self::Nul { .. } => "nul",
            Self::Lane(_) => "lane",
        }
    }
}

/// Why nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// Bad input, found before the database was touched.
    #[error(transparent)]
    Entry(#[from] EntryError),
    /// The database's own fault, inside the caller's transaction; on PostgreSQL that one can then
    /// only be rolled back.
    #[error("the outbox row can't be written")]
    Database(#[source] DriverError),
}

/// Why a statement failed. Never holds a parameter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DriverError {
    /// The engine chose this statement to give way: a deadlock, a lock wait that was too long, a
    /// serialisation failure, a busy file. It changed nothing and may be sent again at once.
    #[error("the database asked for another try ({code})")]
    Contended {
        /// The engine's code.
        code: String,
    },
    /// No connection, or it broke: whether the statement was done is unknown.
    #[error("the database can't be reached ({0})")]
    Unreachable(&'static str),
    /// The database refuses the statement: a table that is missing, a right, a full disk.
    #[error("the database refuses the statement ({code})")]
    Refused {
        /// The engine's code.
        code: String,
    },
    /// What came back is not what the statement asks for.
    #[error("the database's answer can't be read ({0})")]
    Answer(&'static str),
}

impl DriverError {
    /// A stable word for metrics and logs.
    #[must_use]
    pub fn tag(&self) -> &'static str {
        match self {
            Self::Contended { .. } => "contended",
            Self::Unreachable(_) => "unreachable",
            Self::Refused { .. } => "refused",
            Self::Answer(_) => "answer",
        }
    }

    /// Whether the same call may succeed later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Contended { .. } | Self::Unreachable(_) => true,
            Self::Refused { .. } | Self::Answer(_) => false,
        }
    }
}

/// Every offender of a dispatcher's options.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the dispatcher's options are not sound:\n- {}", .0.join("\n- "))]
pub struct OptionsError(pub(crate) Vec<String>);

impl OptionsError {
    /// The offenders, each one line.
    #[must_use]
    pub fn offenders(&self) -> &[String] {
        &self.0
    }
}

/// Why a pass did not run to its end. What it had claimed and not come to lapses by itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// The database failed the claim.
    #[error("the outbox can't be claimed from")]
    Database(#[from] DriverError),
    /// This dispatcher's loop was started and does the same work.
    #[error("this dispatcher is started; a pass beside it would compete with it")]
    Started,
    /// This dispatcher was shut down, which is for good.
    #[error("this dispatcher was shut down; make another")]
    ShutDown,
}

/// Why a loop did not start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    /// This dispatcher was shut down, which is for good.
    #[error("this dispatcher was shut down; make another")]
    ShutDown,
    /// There is no tokio runtime to run in.
    #[error("the dispatcher has to be started inside a tokio runtime")]
    NoRuntime,
}

/// Why a migration did not happen.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MigrateError {
    /// The database's own fault.
    #[error("the outbox table can't be changed")]
    Database(#[from] DriverError),
    /// A text that this encoding lacks would fail in the middle of a caller's transaction.
    #[error("the database's encoding is {found}; the outbox needs UTF8, so that any payload can be written")]
    Encoding {
        /// Its name.
        found: String,
    },
    /// Taking the table away would lose what was never published.
    #[error(
        "{pending} pending and {dead} dead rows would be lost; publish or replay them first, or force it"
    )]
    Undelivered {
        /// Rows still to be published.
        pending: u64,
        /// Rows that were given up.
        dead: u64,
    },
}

//! What can go wrong at the queue.

/// Why one message was not enqueued.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EnqueueError {
    /// The service as a whole: no connection, time-out, 5xx, throttling.
    #[error("the queue service is unavailable ({0})")]
    Unavailable(String),
    /// This queue alone: missing, no access, its key.
    #[error("the stream's queue can't be used ({0})")]
    Queue(String),
    /// The queue refused this message for what is in it, or for its size.
    #[error("the queue refused the message's contents")]
    Contents,
    /// The queue's own size limit is below the lane's, so this message doesn't fit it.
    #[error("the stream's queue is set to take smaller messages than the lane sends")]
    TooLarge,
    /// The queue listed the entry as failed, or didn't list it.
    #[error("the queue didn't confirm the message ({0})")]
    Unconfirmed(String),
}

impl EnqueueError {
    /// The service hadn't answered when the caller had to.
    #[must_use]
    pub fn out_of_time() -> Self {
        Self::Unavailable("deadline".to_owned())
    }

    /// A stable word for metrics, logs and reasons.
    #[must_use]
    pub fn tag(&self) -> &'static str {
        match self {
            Self::Unavailable(_) => "unavailable",
            Self::Queue(_) => "queue",
            Self::Contents => "contents",
            Self::TooLarge => "too_large",
            Self::Unconfirmed(_) => "unconfirmed",
        }
    }
}

/// Why a receive, an extension or a settle failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QueueError {
    /// The service as a whole: no connection, time-out, 5xx, throttling, a local file's fault.
    #[error("the queue service is unavailable ({0})")]
    Unavailable(String),
    /// This queue alone: missing, no access, its key.
    #[error("the stream's queue can't be used ({0})")]
    Queue(String),
    /// The lease is over; the message may be with someone else.
    #[error("the lease has lapsed")]
    Lapsed,
}

impl QueueError {
    /// A stable word for metrics and logs.
    #[must_use]
    pub fn tag(&self) -> &'static str {
        match self {
            Self::Unavailable(_) => "unavailable",
            Self::Queue(_) => "queue",
            Self::Lapsed => "lapsed",
        }
    }

    /// Whether the same call may succeed later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Unavailable(_) => true,
            Self::Queue(_) | Self::Lapsed => false,
        }
    }
}

/// Why an embedded queue's file can't be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// SQLite's own fault.
    #[error("queue file {path} can't be opened")]
    Sqlite {
        /// The file.
        path: String,
        /// SQLite's words.
        #[source]
        source: rusqlite::Error,
    },
    /// A newer build wrote it.
    #[error(
        "queue file {path} has schema version {found}, this build knows up to {known}; use a newer build"
    )]
    Newer {
        /// The file.
        path: String,
        /// Its version.
        found: i64,
        /// Ours.
        known: i64,
    },
}

//! What a pass tells.

use std::fmt;
use std::time::Duration;

use eventlane_contracts::wire::Status;

use crate::error::{TokenError, TransportError};

/// Verdicts that one report lists at most; all of them pass by in [`BatchReport`]s.
pub const REPORT_VERDICTS: usize = 1000;

/// One event's verdict, as reports list it: terminal ones but `acked`, and deferred ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventVerdict {
    /// The event.
    pub event_id: String,
    /// Its stream.
    pub stream: String,
    /// What the server said; never `acked`.
    pub status: Status,
    /// The server's reason, at most 256 bytes; empty when it gave none.
    pub reason: String,
}

/// Why the lane as a whole couldn't go on.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum LaneFault {
    /// No token now.
    Token(TokenError),
    /// No answer.
    Transport(TransportError),
    /// 401 or 403 again, with a token that was just refreshed.
    Auth(u16),
    /// Any other status that is no answer of the lane.
    Status(u16),
    /// A 200 that is not the lane's answer: a portal's page, an empty object.
    NotTheContract,
    /// An answer without one usable verdict on what was sent.
    NoVerdict,
    /// Single events were refused as requests (400, 413) three times in a row: it is not the events.
    Shape(u16),
}

impl fmt::Display for LaneFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Token(error) => error.fmt(f),
            Self::Transport(error) => error.fmt(f),
            Self::Auth(status) => write!(f, "token refused with {status}, a fresh one too"),
            Self::Status(status) => write!(f, "server answered {status}"),
            Self::NotTheContract => f.write_str("answer is not the lane's"),
            Self::NoVerdict => f.write_str("answer has no verdict on what was sent"),
            Self::Shape(status) => write!(f, "server answers {status} whatever is sent"),
        }
    }
}

impl LaneFault {
    /// A stable word for metrics and logs.
    #[must_use]
    pub fn tag(&self) -> &'static str {
        match self {
            Self::Token(_) => "token",
            Self::Transport(error) => error.tag(),
            Self::Auth(_) => "auth",
            Self::Status(_) => "status",
            Self::NotTheContract => "not_the_contract",
            Self::NoVerdict => "no_verdict",
            Self::Shape(_) => "shape",
        }
    }
}

/// How a pass ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum PassEnd {
    /// Nothing is eligible any more.
    #[default]
    Done,
    /// Nothing was sent: a backoff or `Retry-After` of an earlier pass still runs.
    BackingOff,
    /// Something was wrong with the lane; a backoff began.
    Failed(LaneFault),
    /// Nothing was sent: another process, or another flusher of this one, has a pass under way; or a hook
    /// of a pass asked for another.
    Elsewhere,
    /// The driver stopped between two batches, or the app is suspended.
    Stopped,
}

/// A backoff of the lane that began or ended in a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackoffChange {
    /// Nothing is sent for this long.
    Entered(Duration),
    /// An answer came again.
    Cleared,
}

/// What a pass did. Counts are in events.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FlushReport {
    /// Requests sent.
    pub requests: u64,
    /// Events in answered batches.
    pub posted: u64,
    /// Enqueued by the server.
    pub acked: u64,
    /// The gate said no; deleted.
    pub refused: u64,
    /// Can never be taken; deleted.
    pub rejected: u64,
    /// Not now; kept.
    pub deferred: u64,
    /// In an answered batch but without a usable verdict; kept.
    pub unanswered: u64,
    /// Set apart because no request with them is understood; kept.
    pub parked: u64,
    /// The first [`REPORT_VERDICTS`] verdicts other than `acked`.
    pub verdicts: Vec<EventVerdict>,
    /// Verdicts other than `acked` that the list has no place for.
    pub verdicts_left_off: u64,
    /// How it ended.
    pub end: PassEnd,
    /// A backoff that began or ended.
    pub backoff: Option<BackoffChange>,
    /// Streams of which an answer deferred all it was asked about, sorted: no more of them was sent,
    /// and later passes try them with a row or two until the server takes one.
    pub behind: Vec<String>,
    /// When another pass makes sense: the rest of a backoff, or the time until the next waiting row
    /// is due. `None` when nothing waits.
    pub wait: Option<Duration>,
}

impl FlushReport {
    /// Whether it holds anything a host would want to hear: verdicts other than `acked`, parked
    /// rows, a fault or a backoff.
    #[must_use]
    pub fn is_noteworthy(&self) -> bool {
        !self.verdicts.is_empty() || self.parked > 0 || self.backoff.is_some() || self.unanswered > 0
    }

    pub(crate) fn add(&mut self, batch: &BatchReport) {
        self.posted += batch.posted;
        self.acked += batch.acked;
        self.refused += batch.refused;
        self.rejected += batch.rejected;
        self.deferred += batch.deferred;
        self.unanswered += batch.unanswered;
        let room = REPORT_VERDICTS.saturating_sub(self.verdicts.len());
        self.verdicts.extend(batch.verdicts.iter().take(room).cloned());
        self.verdicts_left_off += batch.verdicts.len().saturating_sub(room) as u64;
    }
}

/// What one answered batch brought, for progress bars and for whoever needs every verdict. Settled
/// before it is told.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BatchReport {
    /// Events sent.
    pub posted: u64,
    /// Enqueued by the server.
    pub acked: u64,
    /// The gate said no; deleted.
    pub refused: u64,
    /// Can never be taken; deleted.
    pub rejected: u64,
    /// Not now; kept.
    pub deferred: u64,
    /// Without a usable verdict; kept.
    pub unanswered: u64,
    /// Every verdict other than `acked`.
    pub verdicts: Vec<EventVerdict>,
}

//! Why is this row still here?

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;

use crate::bounds::is_withdrawn;
use crate::error::FlushError;
use crate::lane::retry_after_until_us;
use crate::outbox::{Inner, Outbox};
use crate::report::LaneFault;
use crate::rows::OutboxRow;
use crate::schema::PARKED;

/// What keeps a row, the nearest cause first.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Why {
    /// It is acked and kept as a ledger row until its retention is over.
    Acked {
        /// Unix microseconds.
        at_us: i64,
    },
    /// Consent is withdrawn: the next pass discards it.
    ConsentWithdrawn,
    /// It was appended signed out, and waits for `claim` or `discard`.
    SignedOut,
    /// It belongs to another account than the last pass was for.
    OtherAccount,
    /// The server asked for a rest.
    RetryAfter {
        /// What is left of it.
        rest: Duration,
    },
    /// The lane is at fault and backs off.
    BackingOff {
        /// What was wrong with the lane.
        fault: LaneFault,
        /// What is left of the backoff.
        rest: Duration,
    },
    /// No request with it is understood; it is tried by itself now and then.
    Parked {
        /// Why.
        reason: String,
        /// Times it was tried.
        attempts: i64,
        /// Until it is tried again.
        rest: Duration,
    },
    /// The server deferred it, or left it without a usable verdict.
    Deferred {
        /// What the server said.
        reason: String,
        /// Times it was tried.
        attempts: i64,
        /// Until it is tried again.
        rest: Duration,
    },
    /// The server deferred all that was last sent of its stream: until it takes one, a pass tries a row
    /// or two.
    StreamDeferred,
    /// Nothing keeps it: the next pass sends it, in its turn.
    Ready,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Acked { .. } => f.write_str("acked, kept until the ledger's retention is over"),
            Self::ConsentWithdrawn => f.write_str("consent is withdrawn, the next pass discards it"),
            Self::SignedOut => f.write_str("appended signed out, waits to be claimed or discarded"),
            Self::OtherAccount => f.write_str("belongs to another account than the one signed in"),
            Self::RetryAfter { rest } => write!(f, "the server asked for a rest of another {rest:?}"),
            Self::BackingOff { fault, rest } => write!(f, "lane backs off for another {rest:?}: {fault}"),
            Self::Parked { reason, attempts, rest } => {
                write!(f, "parked after {attempts} attempts, again in {rest:?}: {reason}")
            }
            Self::Deferred { reason, attempts, rest } => {
                write!(f, "deferred after {attempts} attempts, again in {rest:?}: {reason}")
            }
            Self::StreamDeferred => {
                f.write_str("the server defers its stream, which is tried with a row or two")
            }
            Self::Ready => f.write_str("ready, sent by the next pass in its turn"),
        }
    }
}

impl Outbox {
    /// Why an event is still here; `None` when it is not: it was settled, or never appended.
    ///
    /// The lane's own backoff and the account are those of the last pass of this process.
    ///
    /// # Errors
    /// [`FlushError::Store`] when the outbox can't be read.
    pub fn why(&self, event_id: &str) -> Result<Option<Why>, FlushError> {
        let Some(row) = self.row_of(event_id)? else { return Ok(None) };
        if let Some(at_us) = row.acked_at_us {
            return Ok(Some(Why::Acked { at_us }));
        }
        if is_withdrawn(&self.inner.writer())? {
            return Ok(Some(Why::ConsentWithdrawn));
        }
        if row.account.as_deref() == Some("") {
            return Ok(Some(Why::SignedOut));
        }
        let note = self.inner.note().clone();
        if note.account.as_ref().is_some_and(|account| *account != row.account) {
            return Ok(Some(Why::OtherAccount));
        }
        let now_us = self.inner.clock.now_us();
        let rest = |until_us: i64| {
            Duration::from_micros(u64::try_from(until_us.saturating_sub(now_us)).unwrap_or(0))
        };
        if let Some(until_us) = retry_after_until_us(&self.inner.writer(), now_us)? {
            return Ok(Some(Why::RetryAfter { rest: rest(until_us) }));
        }
        if let Some((fault, until_us)) = note.fault.filter(|(_, until_us)| *until_us > now_us) {
            return Ok(Some(Why::BackingOff { fault, rest: rest(until_us) }));
        }
        if row.next_retry_at_us.is_none() && note.deferred.contains(&row.stream) {
            return Ok(Some(Why::StreamDeferred));
        }
        Ok(Some(waiting(row, rest)))
    }
}

fn waiting(row: OutboxRow, rest: impl Fn(i64) -> Duration) -> Why {
    let OutboxRow { attempt_count: attempts, next_retry_at_us, last_reason, .. } = row;
    let Some(due_us) = next_retry_at_us else { return Why::Ready };
    let (reason, rest) = (last_reason.unwrap_or_default(), rest(due_us));
    match reason.strip_prefix(PARKED) {
        Some(reason) => Why::Parked { reason: reason.to_owned(), attempts, rest },
        None => Why::Deferred { reason: reason.trim_start().to_owned(), attempts, rest },
    }
}

impl Inner {
    fn note(&self) -> MutexGuard<'_, LaneNote> {
        self.lane_note.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn note_account(&self, account: Option<String>) {
        self.note().account = Some(account);
    }

    pub(crate) fn note_fault(&self, fault: LaneFault, until_us: i64) {
        self.note().fault = Some((fault, until_us));
    }

    pub(crate) fn note_stream(&self, stream: &str, is_deferred: bool) {
        let mut note = self.note();
        if is_deferred {
            note.deferred.insert(stream.to_owned());
        } else {
            note.deferred.remove(stream);
        }
    }

    pub(crate) fn note_success(&self) {
        self.note().fault = None;
    }
}

/// What this process's last pass learnt of the lane.
#[derive(Debug, Clone, Default)]
pub(crate) struct LaneNote {
    /// The account it was for; `None` before the first pass.
    pub(crate) account: Option<Option<String>>,
    /// The fault that began a backoff, and its end.
    pub(crate) fault: Option<(LaneFault, i64)>,
    /// Streams of which the last answer deferred all it was asked about.
    pub(crate) deferred: BTreeSet<String>,
}

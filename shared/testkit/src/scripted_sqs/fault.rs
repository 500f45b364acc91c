//! The script: which calls fail, how, and how often.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::action::Action;
use super::error::SqsError;

/// Every queue, those that don't exist included.
pub const ANY_QUEUE: &str = "*";

/// More often than any test calls.
pub const FOREVER: usize = usize::MAX;

/// A way for a call to fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// Batch actions: these entries have no effect and are listed as failed. A single action fails
    /// as a whole with the code.
    FailEntries {
        /// The entries.
        which: Which,
        /// The entry's error code, such as `InternalError`.
        code: String,
        /// Whether the entry says that it is the sender's fault.
        sender_fault: bool,
    },
    /// Batch actions: these entries have no effect and stand in neither list.
    OmitEntries(Which),
    /// A plain answer with this HTTP status and no AWS error in it, such as 500 or 503.
    Status(u16),
    /// An AWS error.
    Error {
        /// The HTTP status.
        status: u16,
        /// The code, as the JSON protocol names it.
        code: String,
        /// Whether it is the sender's fault.
        sender_fault: bool,
    },
    /// The connection is reset, and the call has had no effect.
    Reset,
    /// The call takes effect, and then the connection is reset instead of the answer.
    LoseAnswer,
    /// The call is taken and never answered, and has no effect.
    Hang,
    /// The call takes effect and half of its answer is sent; the rest follows when the script is healed.
    Pause,
}

/// Entries of a batch call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Which {
    /// Every entry.
    All,
    /// The entry at this place of the call, from 0.
    At(usize),
    /// The entries whose body contains this text.
    BodyWith(String),
}

impl Fault {
    /// These entries fail through no fault of the sender.
    #[must_use]
    pub fn fail(which: Which) -> Self {
        Self::FailEntries { which, code: "InternalError".to_owned(), sender_fault: false }
    }

    /// These entries fail as the sender's fault, with this code.
    #[must_use]
    pub fn refuse(which: Which, code: &str) -> Self {
        Self::FailEntries { which, code: code.to_owned(), sender_fault: true }
    }

    /// The caller is too fast.
    #[must_use]
    pub fn throttled() -> Self {
        Self::error(400, "RequestThrottled")
    }

    /// The caller may not do this.
    #[must_use]
    pub fn access_denied() -> Self {
        Self::error(403, "AccessDeniedException")
    }

    /// The queue's key can't be used.
    #[must_use]
    pub fn key_disabled() -> Self {
        Self::error(400, "KMS.DisabledException")
    }

    /// The queue doesn't exist (now).
    #[must_use]
    pub fn no_queue() -> Self {
        Self::error(400, "QueueDoesNotExist")
    }

    fn error(status: u16, code: &str) -> Self {
        Self::Error { status, code: code.to_owned(), sender_fault: true }
    }

    /// The error answer of the whole call, where the fault is one.
    pub(super) fn as_error(&self) -> Option<SqsError> {
        let (status, code, sender_fault) = match self {
            Self::Error { status, code, sender_fault } => (*status, code, *sender_fault),
            Self::FailEntries { code, sender_fault, .. } => {
                (if *sender_fault { 400 } else { 500 }, code, *sender_fault)
            }
            Self::OmitEntries(_)
            | Self::Status(_)
            | Self::Reset
            | Self::LoseAnswer
            | Self::Hang
            | Self::Pause => return None,
        };
        Some(SqsError { status, code: code.clone(), message: "scripted".to_owned(), sender_fault })
    }
}

impl Which {
    /// Whether the entry at this place with this body is meant.
    pub(super) fn is(&self, place: usize, body: &str) -> bool {
        match self {
            Self::All => true,
            Self::At(at) => *at == place,
            Self::BodyWith(text) => body.contains(text),
        }
    }
}

/// How often a scripted fault has fired.
#[derive(Debug, Clone, Default)]
pub struct Fired(Arc<AtomicUsize>);

impl Fired {
    /// The number of calls that failed this way.
    #[must_use]
    pub fn fired(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    pub(super) fn count(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// The faults that are left, oldest first.
#[derive(Debug, Default)]
pub(super) struct Script(VecDeque<Rule>);

#[derive(Debug)]
struct Rule {
    queue: String,
    action: Action,
    left: usize,
    fault: Fault,
    fired: Fired,
}

impl Script {
    pub(super) fn add(&mut self, queue: &str, action: Action, times: usize, fault: Fault) -> Fired {
        let fired = Fired::default();
        self.0.push_back(Rule { queue: queue.to_owned(), action, left: times, fault, fired: fired.clone() });
        fired
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Whether an answer that was paused is still to be held.
    pub(super) fn pauses(&self) -> bool {
        self.0.iter().any(|rule| rule.fault == Fault::Pause)
    }

    /// The fault of this call, counted.
    pub(super) fn take(&mut self, queue: &str, action: Action) -> Option<Fault> {
        let meant =
            |rule: &&mut Rule| rule.action == action && (rule.queue == queue || rule.queue == ANY_QUEUE);
        let rule = self.0.iter_mut().filter(|rule| rule.left > 0).find(meant)?;
        rule.left -= 1;
        rule.fired.count();
        Some(rule.fault.clone())
    }
}

//! One event on its way through the stages.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use eventlane_contracts::limits::REASON_BYTES;
use eventlane_contracts::text::cut;
use eventlane_contracts::wire::{Envelope, Status};
use eventlane_contracts::{Stream, event_text};

/// An envelope and where it stands.
pub(crate) struct Event<'a> {
    pub(crate) envelope: Envelope<'a>,
    pub(crate) state: State<'a>,
}

/// Where an event stands. A stage acts on what is open and leaves the rest alone.
pub(crate) enum State<'a> {
    /// Parsed, and nothing more.
    Parsed,
    /// Checked and stamped.
    Stamped(Stamped<'a>),
    /// Judged: nothing else happens to it.
    Judged(Verdict),
}

impl Event<'_> {
    /// Gives it its verdict.
    pub(crate) fn judge(&mut self, verdict: Verdict) {
        self.state = State::Judged(verdict);
    }
}

/// What a verdict was given for, as one of few words: metrics are counted by them.
pub(crate) mod tag {
    pub(crate) const ACKED: &str = "acked";
    pub(crate) const UNKNOWN_STREAM: &str = "unknown_stream";
    pub(crate) const OCCURRED_AT: &str = "occurred_at";
    pub(crate) const IDENTITY: &str = "identity";
    pub(crate) const GATE: &str = "gate";
    pub(crate) const UNSENDABLE: &str = "unsendable";
    pub(crate) const INTERNAL: &str = "internal";
}

/// An event that may be enqueued.
pub(crate) struct Stamped<'a> {
    pub(crate) stream: &'a Stream,
    pub(crate) identity: Arc<BTreeMap<String, String>>,
    pub(crate) payload: Cow<'a, str>,
}

impl Stamped<'_> {
    /// The event's text inside a queue message.
    pub(crate) fn text(&self, envelope: &Envelope<'_>) -> String {
        event_text(&envelope.event_id, &envelope.occurred_at_us, &self.identity, &self.payload)
    }
}

/// What the answer says of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) status: Status,
    /// One of few words, see [`tag`]; a payload's fault and a queue's have their own.
    pub(crate) tag: &'static str,
    pub(crate) reason: Option<String>,
}

impl Verdict {
    pub(crate) fn acked() -> Self {
        Self { status: Status::Acked, tag: tag::ACKED, reason: None }
    }

    pub(crate) fn refused(reason: &str) -> Self {
        Self::because(Status::Refused, tag::GATE, reason)
    }

    pub(crate) fn rejected(tag: &'static str, reason: &str) -> Self {
        Self::because(Status::Rejected, tag, reason)
    }

    pub(crate) fn deferred(tag: &'static str, reason: &str) -> Self {
        Self::because(Status::Deferred, tag, reason)
    }

    fn because(status: Status, tag: &'static str, reason: &str) -> Self {
        Self { status, tag, reason: Some(cut(reason, REASON_BYTES).to_owned()) }
    }
}

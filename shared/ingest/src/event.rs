//! One event on its way through the stages.

use std::borrow::Cow;
use std::collections::BTreeMap;

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

/// An event that may be enqueued.
pub(crate) struct Stamped<'a> {
    pub(crate) stream: &'a Stream,
    pub(crate) identity: BTreeMap<String, String>,
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
    pub(crate) reason: Option<String>,
}

impl Verdict {
    pub(crate) fn acked() -> Self {
        Self { status: Status::Acked, reason: None }
    }

    pub(crate) fn refused(reason: &str) -> Self {
        Self::because(Status::Refused, reason)
    }

    pub(crate) fn rejected(reason: &str) -> Self {
        Self::because(Status::Rejected, reason)
    }

    pub(crate) fn deferred(reason: &str) -> Self {
        Self::because(Status::Deferred, reason)
    }

    fn because(status: Status, reason: &str) -> Self {
        Self { status, reason: Some(cut(reason, REASON_BYTES).to_owned()) }
    }
}

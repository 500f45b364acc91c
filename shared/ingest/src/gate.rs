//! Gate: the owner's own yes or no to an event that is sound (consent, entitlement).

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;

use async_trait::async_trait;
use eventlane_contracts::StreamName;
use futures::FutureExt;

use crate::event::{Event, State, Verdict};
use crate::{Claims, Fault};

/// A checked and stamped event, as the gate sees it.
#[derive(Debug)]
pub struct GatedEvent<'a> {
    /// Its stream.
    pub stream: &'a StreamName,
    /// Its id, as the sender wrote it.
    pub event_id: &'a str,
    /// Unix microseconds as decimal digits.
    pub occurred_at_us: &'a str,
    /// What it is stamped with.
    pub identity: &'a BTreeMap<String, String>,
    /// The payload's JSON text as it would be enqueued.
    pub payload: &'a str,
}

/// The gate's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Admission {
    /// Let in.
    Admitted,
    /// Kept out, for good: the sender drops the event. The reason is told, 256 bytes at most.
    Refused(String),
}

/// The gate can't tell. The event is deferred: nothing of ours deletes a customer's event.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the gate can't tell ({0})")]
pub struct GateError(pub String);

/// Decides over single events.
#[async_trait]
pub trait Gate: Send + Sync {
    /// Whether this event of this token's holder is let in.
    ///
    /// # Errors
    /// [`GateError`] when that can't be told now; the event is deferred.
    async fn admit(&self, claims: &Claims, event: &GatedEvent<'_>) -> Result<Admission, GateError>;
}

/// A gate that stands open.
#[derive(Debug, Clone, Copy, Default)]
pub struct AdmitAll;

#[async_trait]
impl Gate for AdmitAll {
    async fn admit(&self, _: &Claims, _: &GatedEvent<'_>) -> Result<Admission, GateError> {
        Ok(Admission::Admitted)
    }
}

/// Asks the gate about every stamped event.
///
/// A gate that fails for every event of the batch is the batch's fault: the sender should know that
/// nothing of it was looked at.
pub(crate) async fn gate_all(
    events: &mut [Event<'_>],
    gate: &dyn Gate,
    claims: &Claims,
) -> Result<(), Fault> {
    let mut failed = 0usize;
    for event in events.iter_mut() {
        let State::Stamped(stamped) = &event.state else { continue };
        let gated = GatedEvent {
            stream: stamped.stream.name(),
            event_id: &event.envelope.event_id,
            occurred_at_us: &event.envelope.occurred_at_us,
            identity: &stamped.identity,
            payload: &stamped.payload,
        };
        let verdict = match AssertUnwindSafe(gate.admit(claims, &gated)).catch_unwind().await {
            Ok(Ok(Admission::Admitted)) => continue,
            Ok(Ok(Admission::Refused(reason))) => Verdict::refused(&reason),
            Ok(Err(error)) => {
                tracing::warn!(stream = %gated.stream, %error, "the gate failed for an event");
                failed += 1;
                Verdict::deferred("gate")
            }
            Err(_) => {
                failed += 1;
                Verdict::deferred("internal")
            }
        };
        event.state = State::Judged(verdict);
    }
    if failed == events.len() { Err(Fault::Gate) } else { Ok(()) }
}

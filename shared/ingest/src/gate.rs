//! Gate: the owner's own yes or no to an event that is sound (consent, entitlement).
//!
//! The same question is asked once a request, questions go side by side, and all of it is over in the
//! time there is. What the gate can't answer, is too slow for or panics at is deferred.

use std::collections::{BTreeMap, HashMap};
use std::panic::AssertUnwindSafe;

use async_trait::async_trait;
use eventlane_contracts::StreamName;
use futures::{FutureExt, StreamExt, stream};
use tokio::time::{Instant, timeout_at};

use crate::event::{Event, Stamped, State, Verdict, tag};
use crate::{Claims, Fault};

/// Questions under way at once: enough to hide a store's latency, too few to be throttled for.
const QUESTIONS_AT_ONCE: usize = 16;

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

/// The gate can't tell. The event is deferred: nothing of ours deletes a customer's event. The text is
/// logged, so it must not quote a payload or a claim.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the gate can't tell ({0})")]
pub struct GateError(pub String);

/// What an answer depends on, beside the token: within a request, events that agree in it get one
/// answer, and the gate is asked about the first of them alone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum JudgedBy {
    /// Nothing else: one answer for the whole request.
    Token,
    /// The stream, and with it the identity, which follows from stream and token.
    Stream,
    /// Anything of the event.
    #[default]
    Event,
}

/// Decides who may send what.
#[async_trait]
pub trait Gate: Send + Sync {
    /// Whether this event of this token's holder is let in.
    ///
    /// # Errors
    /// [`GateError`] when that can't be told now; the event is deferred.
    ///
    /// # Cancel safety
    /// Must be safe to drop: a request's time may be over.
    async fn admit(&self, claims: &Claims, event: &GatedEvent<'_>) -> Result<Admission, GateError>;

    /// What answers depend on. The safe default asks about every event.
    fn judged_by(&self) -> JudgedBy {
        JudgedBy::Event
    }

    /// The gate of one request, where a look-up serves all its events: asked once a request, and not
    /// at all when no event gets as far. `None`, the default, asks `self`.
    ///
    /// # Errors
    /// [`GateError`] when the look-up fails; every event that asks is deferred.
    async fn for_request(&self, claims: &Claims) -> Result<Option<Box<dyn Gate>>, GateError> {
        let _ = claims;
        Ok(None)
    }
}

/// A gate that stands open.
#[derive(Debug, Clone, Copy, Default)]
pub struct AdmitAll;

#[async_trait]
impl Gate for AdmitAll {
    async fn admit(&self, _: &Claims, _: &GatedEvent<'_>) -> Result<Admission, GateError> {
        Ok(Admission::Admitted)
    }

    fn judged_by(&self) -> JudgedBy {
        JudgedBy::Token
    }
}

/// Asks the gate about the stamped events, until `deadline`.
///
/// # Errors
/// [`Fault::Gate`] when it failed for every event of the batch: the sender should know that nothing
/// of it was looked at.
pub(crate) async fn gate_all(
    events: &mut [Event<'_>],
    gate: &dyn Gate,
    claims: &Claims,
    deadline: Instant,
) -> Result<(), Fault> {
    let groups = groups(events, gate.judged_by());
    if groups.is_empty() {
        return Ok(());
    }
    let answers = match within(deadline, gate.for_request(claims)).await {
        Ok(own) => {
            let gate = own.as_deref().unwrap_or(gate);
            let questions: Vec<_> =
                groups.iter().filter_map(|group| gated(&events[*group.first()?])).collect();
            let asked = questions.iter().map(|question| within(deadline, gate.admit(claims, question)));
            stream::iter(asked.collect::<Vec<_>>()).buffered(QUESTIONS_AT_ONCE).collect().await
        }
        Err(error) => vec![Err(error); groups.len()],
    };
    let mut failed = 0usize;
    for (group, answer) in groups.into_iter().zip(answers) {
        let verdict = match answer {
            Ok(Admission::Admitted) => continue,
            Ok(Admission::Refused(reason)) => Verdict::refused(&reason),
            Err(error) => {
                let stream = group.first().and_then(|&first| gated(&events[first])).map(|event| event.stream);
                tracing::warn!(stream = stream.map(StreamName::as_str), %error, events = group.len(), "the gate failed for events");
                failed += group.len();
                Verdict::deferred(tag::GATE, "gate")
            }
        };
        for index in group {
            events[index].judge(verdict.clone());
        }
    }
    if failed == events.len() { Err(Fault::Gate) } else { Ok(()) }
}

/// The stamped events' indexes, those that get one answer together, in the order of their firsts.
fn groups(events: &[Event<'_>], by: JudgedBy) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut known = HashMap::new();
    for (index, event) in events.iter().enumerate() {
        let State::Stamped(stamped) = &event.state else { continue };
        let key = match by {
            JudgedBy::Token => (None, None),
            JudgedBy::Stream => (Some(stamped.stream.name()), None),
            JudgedBy::Event => (None, Some(index)),
        };
        let place = *known.entry(key).or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        groups[place].push(index);
    }
    groups
}

fn gated<'a>(event: &'a Event<'_>) -> Option<GatedEvent<'a>> {
    let State::Stamped(Stamped { stream, identity, payload }) = &event.state else { return None };
    Some(GatedEvent {
        stream: stream.name(),
        event_id: &event.envelope.event_id,
        occurred_at_us: &event.envelope.occurred_at_us,
        identity,
        payload,
    })
}

/// One question's answer in time. A panic's text may quote a payload, so it goes nowhere.
async fn within<T>(
    deadline: Instant,
    question: impl Future<Output = Result<T, GateError>>,
) -> Result<T, GateError> {
    match timeout_at(deadline, AssertUnwindSafe(question).catch_unwind()).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(_)) => Err(GateError("it panicked".to_owned())),
        Err(_) => Err(GateError("no answer in time".to_owned())),
    }
}

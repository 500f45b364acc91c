//! Check and stamp: stream known, time sound, payload valid, identity from verified claims.

use std::panic::{AssertUnwindSafe, catch_unwind};

use eventlane_contracts::Registry;
use eventlane_contracts::limits::OCCURRED_AT_DIGITS;
use eventlane_contracts::wire::Envelope;

use crate::Claims;
use crate::event::{Event, Stamped, State, Verdict, tag};
use crate::stamp::Stamps;

/// Checks and stamps every parsed event. A panic in one, a user's type may do so, is its own.
pub(crate) fn check_all<'a>(events: &mut [Event<'a>], registry: &'a Registry, claims: &'a Claims) {
    let mut stamps = Stamps::new(claims);
    for event in events {
        if matches!(event.state, State::Parsed) {
            let checked = catch_unwind(AssertUnwindSafe(|| check(&event.envelope, registry, &mut stamps)));
            event.state = match checked {
                Ok(Ok(stamped)) => State::Stamped(stamped),
                Ok(Err(verdict)) => State::Judged(verdict),
                Err(_) => State::Judged(Verdict::deferred(tag::INTERNAL, "internal")),
            };
        }
    }
}

fn check<'a>(
    envelope: &Envelope<'a>,
    registry: &'a Registry,
    stamps: &mut Stamps<'a>,
) -> Result<Stamped<'a>, Verdict> {
    let Some(stream) = registry.stream(envelope.stream.trim()) else {
        // A client deployed ahead of its server is ordinary skew: the event stays with its sender.
        return Err(Verdict::deferred(tag::UNKNOWN_STREAM, "the server doesn't know this stream (yet)"));
    };
    let occurred = &envelope.occurred_at_us;
    if occurred.len() > OCCURRED_AT_DIGITS || occurred.parse::<i64>().is_err() {
        return Err(Verdict::rejected(tag::OCCURRED_AT, "occurredAtUs is beyond 64-bit microseconds"));
    }
    let checked = stream
        .check_raw(envelope.payload)
        .map_err(|fault| Verdict::rejected(fault.tag(), &fault.reason()))?;
    let identity = stamps.of(stream).map_err(|fault| Verdict::rejected(tag::IDENTITY, &fault.to_string()))?;
    Ok(Stamped { stream, identity, payload: checked.output })
}

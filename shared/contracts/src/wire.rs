//! The wire: `POST /api/events`, request and answer.
//!
//! A request is judged in two layers. Framing faults ([`FramingError`]) answer the whole batch;
//! trouble inside one payload is left to that event's verdict, so payloads stay raw text here.

use std::borrow::Cow;
use std::fmt;

use schemars::JsonSchema;
use serde::de::{Error as _, IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::limits::{BATCH_EVENTS, REASON_BYTES};

/// The route of the lane.
pub const EVENTS_PATH: &str = "/api/events";

/// The route that tells whether a server answers.
pub const HEALTH_PATH: &str = "/healthz";

/// One event on the wire. Strict: no identity, no sequence number, no local time.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Envelope<'a> {
    /// The stream's name; white space around it doesn't count.
    #[serde(borrow)]
    #[schemars(extend("pattern" = "\\S"))]
    pub stream: Cow<'a, str>,
    /// A UUID in its 36-character form, in either case.
    #[serde(borrow)]
    #[schemars(extend("pattern" = EVENT_ID_PATTERN))]
    pub event_id: Cow<'a, str>,
    /// Unix microseconds as decimal digits.
    #[serde(borrow)]
    #[schemars(extend("pattern" = "^[0-9]+$"))]
    pub occurred_at_us: Cow<'a, str>,
    /// The payload, syntax checked and nothing else.
    #[serde(borrow)]
    #[schemars(with = "serde_json::Value")]
    pub payload: &'a RawValue,
}

/// What [`Envelope::event_id`] looks like, for descriptions of the wire.
const EVENT_ID_PATTERN: &str =
    "^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}$";

/// The body of a request.
#[derive(Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Batch<'a> {
    /// One to [`BATCH_EVENTS`] envelopes, in the sender's order.
    #[schemars(extend("minItems" = 1, "maxItems" = BATCH_EVENTS))]
    #[schemars(description = "The envelopes, in the sender's order.")]
    pub events: Vec<Envelope<'a>>,
}

/// Why a body is no batch.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FramingError {
    /// Not UTF-8, not JSON, or not the shape. 400.
    #[error("{0}")]
    Shape(String),
    /// More events than [`BATCH_EVENTS`]. 413.
    #[error("batch has {0} events, the limit is {BATCH_EVENTS}")]
    Count(usize),
}

impl<'a> Batch<'a> {
    /// Reads a body.
    ///
    /// # Errors
    /// [`FramingError::Count`] for too many events, whatever their shape;
    /// [`FramingError::Shape`] for everything else, naming the place but no value.
    pub fn parse(body: &'a [u8]) -> Result<Self, FramingError> {
        let text = std::str::from_utf8(body)
            .map_err(|error| shape(format!("body is not UTF-8 at byte {}", error.valid_up_to())))?;
        let frame: Frame<'a> = match serde_json::from_str(text) {
            Ok(frame) => frame,
            Err(error) => return Err(Self::explain(text, &error)),
        };
        let Events { envelopes, count } = frame.events;
        if count > BATCH_EVENTS {
            return Err(FramingError::Count(count));
        }
        if envelopes.is_empty() {
            return Err(shape("events is empty; a batch has at least one".to_owned()));
        }
        for (index, envelope) in envelopes.iter().enumerate() {
            envelope.check().map_err(|trouble| shape(format!("events[{index}].{trouble}")))?;
        }
        Ok(Self { events: envelopes })
    }

    /// A body that failed: too many events come before a bad one among them.
    fn explain(text: &str, error: &serde_json::Error) -> FramingError {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Counted {
            events: Vec<IgnoredAny>,
        }
        match serde_json::from_str::<Counted>(text) {
            Ok(counted) if counted.events.len() > BATCH_EVENTS => FramingError::Count(counted.events.len()),
            _ if error.is_data() => shape(format!(
                "body is not {{\"events\":[{{stream, eventId, occurredAtUs, payload}}]}} with exactly these keys, \
                 all but payload strings (line {}, column {})",
                error.line(),
                error.column()
            )),
            _ => shape(format!("body is not JSON (line {}, column {})", error.line(), error.column())),
        }
    }
}

fn shape(message: String) -> FramingError {
    FramingError::Shape(message)
}

impl Envelope<'_> {
    fn check(&self) -> Result<(), &'static str> {
        if self.stream.trim().is_empty() {
            return Err("stream is empty");
        }
        if !is_uuid(&self.event_id) {
            return Err("eventId is no UUID in its 36-character form");
        }
        if self.occurred_at_us.is_empty() || !self.occurred_at_us.bytes().all(|b| b.is_ascii_digit()) {
            return Err("occurredAtUs is no string of decimal digits");
        }
        Ok(())
    }
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Frame<'a> {
    #[serde(borrow)]
    events: Events<'a>,
}

/// At most [`BATCH_EVENTS`] envelopes are kept; the rest is only counted.
struct Events<'a> {
    envelopes: Vec<Envelope<'a>>,
    count: usize,
}

impl<'de: 'a, 'a> Deserialize<'de> for Events<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(EventsVisitor)
    }
}

struct EventsVisitor;

impl<'de> Visitor<'de> for EventsVisitor {
    type Value = Events<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of envelopes")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut envelopes = Vec::new();
        while envelopes.len() < BATCH_EVENTS {
            match items.next_element()? {
                Some(envelope) => envelopes.push(envelope),
                None => return Ok(Events { count: envelopes.len(), envelopes }),
            }
        }
        let mut count = envelopes.len();
        while items.next_element::<IgnoredAny>()?.is_some() {
            count = count.checked_add(1).ok_or_else(|| A::Error::custom("too many"))?;
        }
        Ok(Events { envelopes, count })
    }
}

/// What the server says of one event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Enqueued. Terminal.
    Acked,
    /// The gate said no. Terminal.
    Refused,
    /// This event on this stream can never be taken. Terminal.
    Rejected,
    /// Not now; the event stays with its sender and is tried again.
    Deferred,
}

impl Status {
    /// The word on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Acked => "acked",
            Self::Refused => "refused",
            Self::Rejected => "rejected",
            Self::Deferred => "deferred",
        }
    }
}

/// One event's verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub struct Ack<'a> {
    /// The sender's id, byte for byte.
    #[serde(borrow)]
    pub event_id: Cow<'a, str>,
    /// The verdict.
    pub status: Status,
    /// Why; there for all but `acked`, at most 256 bytes.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("maxLength" = REASON_BYTES))]
    pub reason: Option<Cow<'a, str>>,
}

/// The answer to a batch: exactly one verdict an envelope, in request order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Answer<'a> {
    /// The verdicts.
    #[serde(borrow)]
    pub acks: Vec<Ack<'a>>,
}

/// The body of every answer that is not 200.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Fault {
    /// What was wrong with the whole batch.
    pub message: String,
}

/// The body of the health route's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Health {
    /// `ok`: the process answers. Queues and keys are not looked at.
    #[schemars(extend("const" = "ok"))]
    status: &'static str,
    /// The server's version.
    version: &'static str,
}

impl Health {
    /// That of a server that answers.
    #[must_use]
    pub fn ok(version: &'static str) -> Self {
        Self { status: "ok", version }
    }
}

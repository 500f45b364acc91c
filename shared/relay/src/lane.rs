//! The lane as a publisher: topic → stream, validated by the registry, enqueued as one event.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use eventlane_contracts::limits::{IDENTITY_VALUE_BYTES, REASON_BYTES};
use eventlane_contracts::text::cut;
use eventlane_contracts::{PayloadFault, Registry, Stream, StreamName, event_text};
use eventlane_queue::{EnqueueError, EventOutcome, Producer, StreamEvents, enqueue_streams};
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::{PublishError, Publisher, RelayRow};

/// Which topic goes to which stream, and what the streams take.
#[derive(Debug, Clone)]
pub struct LaneTopics {
    registry: Arc<Registry>,
    streams: BTreeMap<String, StreamName>,
}

/// Every offender of a mapping of topics.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the topics are not sound:\n- {}", .0.join("\n- "))]
pub struct TopicsError(Vec<String>);

/// Why the lane can't take a row. The text names the place and the rule, never a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LaneFault {
    /// No stream is mapped to the topic.
    #[error("no stream takes this topic")]
    Topic,
    /// The payload is not `{"identity": {…}, "payload": …}`.
    #[error(
        "the payload is not {{\"identity\": {{field: text}}, \"payload\": value}} with exactly these keys"
    )]
    Shape,
    /// The identity's fields are not those of the stream.
    #[error(
        "identity {0} is missing, blank, longer than {IDENTITY_VALUE_BYTES} bytes or not one of the stream's"
    )]
    Identity(String),
    /// The stream's contract refuses the payload.
    #[error(transparent)]
    Payload(#[from] PayloadFault),
    /// The row's id is no UUID in its hyphenated form, so it can't be an event's.
    #[error("the row's id is no UUID in its 36-character form")]
    Id,
    /// The row's time is before 1970.
    #[error("the row's created_at is before 1970")]
    Time,
}

impl LaneTopics {
    /// Every stream takes the topic of its own name.
    #[must_use]
    pub fn of_streams(registry: Arc<Registry>) -> Self {
        let streams = registry.streams().map(|stream| (stream.name().to_string(), stream.name().clone()));
        let streams = streams.collect();
        Self { registry, streams }
    }

    /// Only these topics, each to its stream.
    ///
    /// # Errors
    /// [`TopicsError`] with every topic that is empty, comes twice, or whose stream is unknown.
    pub fn mapped<T: Into<String>, S: AsRef<str>>(
        registry: Arc<Registry>,
        topics: impl IntoIterator<Item = (T, S)>,
    ) -> Result<Self, TopicsError> {
        let (mut streams, mut faults) = (BTreeMap::new(), Vec::new());
        for (topic, stream) in topics {
            let (topic, stream): (String, &str) = (topic.into(), stream.as_ref());
            if topic.trim().is_empty() {
                faults.push("a topic is empty".to_owned());
            } else if let Some(known) = registry.stream(stream) {
                if streams.insert(topic.clone(), known.name().clone()).is_some() {
                    faults.push(format!("topic {topic} is mapped twice"));
                }
            } else {
                let names: Vec<&str> = registry.streams().map(|known| known.name().as_str()).collect();
                let names = names.join(", ");
                faults.push(format!("topic {topic}: stream {stream} is unknown; known are {names}"));
            }
        }
        if faults.is_empty() { Ok(Self { registry, streams }) } else { Err(TopicsError(faults)) }
    }

    /// Whether the lane would take this payload on this topic.
    ///
    /// # Errors
    /// [`LaneFault`] but `Id` and `Time`, which only a written row can have.
    pub fn check(&self, topic: &str, payload: &str) -> Result<(), LaneFault> {
        self.event(topic, payload).map(drop)
    }

    fn event<'a>(&'a self, topic: &str, payload: &'a str) -> Result<LaneEvent<'a>, LaneFault> {
        let stream = self.streams.get(topic).and_then(|name| self.registry.stream(name.as_str()));
        let stream = stream.ok_or(LaneFault::Topic)?;
        let body: Body<'a> = serde_json::from_str(payload).map_err(|_| LaneFault::Shape)?;
        check_identity(stream, &body.identity.0)?;
        let checked = stream.check_raw(body.payload)?;
        Ok(LaneEvent { stream: stream.name(), identity: body.identity.0, payload: checked.output })
    }

    /// The event's text inside a queue message.
    fn text(&self, row: &RelayRow) -> Result<(StreamName, String), LaneFault> {
        let event = self.event(&row.topic, &row.payload)?;
        if row.id.len() != 36 || uuid::Uuid::try_parse(&row.id).is_err() {
            return Err(LaneFault::Id);
        }
        if row.created_at_us < 0 {
            return Err(LaneFault::Time);
        }
        let text = event_text(&row.id, &row.created_at_us.to_string(), &event.identity, &event.payload);
        Ok((event.stream.clone(), text))
    }
}

/// The payload of a row that goes to the lane: whose event it is, and the event itself.
///
/// # Errors
/// serde's, when the value is nothing JSON can carry.
pub fn lane_payload(
    identity: &BTreeMap<String, String>,
    payload: &impl Serialize,
) -> Result<String, serde_json::Error> {
    #[derive(Serialize)]
    struct Written<'a, P> {
        identity: &'a BTreeMap<String, String>,
        payload: &'a P,
    }
    serde_json::to_string(&Written { identity, payload })
}

struct LaneEvent<'a> {
    stream: &'a StreamName,
    identity: BTreeMap<String, String>,
    payload: Cow<'a, str>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body<'a> {
    identity: Fields,
    #[serde(borrow)]
    payload: &'a RawValue,
}

/// Identity fields; one that comes twice is refused instead of one of them being dropped.
struct Fields(BTreeMap<String, String>);

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FieldsVisitor;

        impl<'de> Visitor<'de> for FieldsVisitor {
            type Value = Fields;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("fields with their texts")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut fields = BTreeMap::new();
                while let Some((field, text)) = map.next_entry::<String, String>()? {
                    if fields.insert(field, text).is_some() {
                        return Err(A::Error::custom("a field twice"));
                    }
                }
                Ok(Fields(fields))
            }
        }

        deserializer.deserialize_map(FieldsVisitor)
    }
}

/// Exactly the stream's fields, each with a text that could have been stamped.
fn check_identity(stream: &Stream, given: &BTreeMap<String, String>) -> Result<(), LaneFault> {
    let fault = |field: &str| Err(LaneFault::Identity(cut(field, 64).to_owned()));
    for (field, _) in stream.identity().fields() {
        match given.get(field) {
            Some(text) if !text.trim().is_empty() && text.len() <= IDENTITY_VALUE_BYTES => {}
            _ => return fault(field),
        }
    }
    let known = |field: &String| stream.identity().fields().any(|(known, _)| known == field);
    given.keys().find(|field| !known(field)).map_or(Ok(()), |field| fault(field))
}

/// Brings rows to the lane's queues: the row's id is the event's id, `created_at` its time.
///
/// What the lane can never take goes dead: an unmapped topic, another shape, a payload or an identity
/// that the stream refuses.
pub struct LanePublisher {
    topics: Arc<LaneTopics>,
    producer: Arc<dyn Producer>,
}

impl LanePublisher {
    /// A publisher to these streams' queues.
    #[must_use]
    pub fn new(topics: Arc<LaneTopics>, producer: Arc<dyn Producer>) -> Self {
        Self { topics, producer }
    }
}

#[async_trait]
impl Publisher for LanePublisher {
    async fn publish(&self, row: &RelayRow) -> Result<(), PublishError> {
        let fault = |fault: LaneFault| PublishError::hopeless(cut(&fault.to_string(), REASON_BYTES));
        let (stream, text) = self.topics.text(row).map_err(fault)?;
        let batch = [StreamEvents { stream, events: vec![text] }];
        let report = enqueue_streams(&*self.producer, &batch, None).await;
        match report.streams.into_iter().flatten().next() {
            Some(EventOutcome::Queued) => Ok(()),
            Some(EventOutcome::Unsendable) => {
                Err(PublishError::hopeless("the queue refuses this event's contents"))
            }
            Some(EventOutcome::NotQueued(error @ EnqueueError::Unavailable(_))) => {
                Err(PublishError::unavailable(error.to_string()))
            }
            Some(EventOutcome::NotQueued(error)) => Err(PublishError::failed(error.to_string())),
            None => Err(PublishError::failed("the queue gave no outcome")),
        }
    }
}

//! The door's promises, asked through its router.

mod cors;
mod door;
mod events;
mod gate;
mod logs;
mod nudge;
mod openapi;
mod queues;
mod rate_limit;
mod report;
mod tokens;
mod wire;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use axum::body::{Body, to_bytes};
use axum::http::{Request, Response};
use eventlane_contracts::{MessageBody, QueuedEvent, Registry, Stream, StreamName};
use eventlane_queue::{EnqueueError, Message, Producer};
use eventlane_testkit::ManualClock;
use eventlane_testkit::envelopes::{Event, batch};
use eventlane_testkit::tokens::{FAR_EXPIRY, HS256_SECRET, hs256};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::{
    Admission, AdmitAll, Claims, Cors, CorsSettings, Gate, GateError, GatedEvent, Ingest, IngestOptions,
    TokenSettings, TokenVerifier, router,
};

/// Takes or refuses messages as a stream's name says, and keeps what it took.
#[derive(Default)]
struct Queues {
    faults: BTreeMap<&'static str, EnqueueError>,
    taken: Mutex<Vec<(String, Message)>>,
    calls: Mutex<usize>,
}

#[async_trait]
impl Producer for Queues {
    async fn enqueue(&self, stream: &StreamName, messages: &[Message]) -> Vec<Result<(), EnqueueError>> {
        *self.calls.lock().unwrap() += 1;
        let take = |message: &Message| match self.faults.get(stream.as_str()) {
            Some(fault) => Err(fault.clone()),
            None => {
                self.taken.lock().unwrap().push((stream.to_string(), message.clone()));
                Ok(())
            }
        };
        messages.iter().map(take).collect()
    }
}

impl Queues {
    fn messages(&self) -> Vec<Message> {
        self.taken.lock().unwrap().iter().map(|(_, message)| message.clone()).collect()
    }

    /// Every event that was taken, in the order of messages and inside them.
    fn events(&self) -> Vec<QueuedEvent> {
        let bodies = self.messages().into_iter().map(|message| message.body);
        bodies.flat_map(|body| serde_json::from_str::<MessageBody>(&body).unwrap().events).collect()
    }
}

/// A type whose parse panics on one value, as a careless one would.
#[derive(Debug, Serialize)]
struct Fragile {
    n: i64,
}

impl<'de> Deserialize<'de> for Fragile {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let map = BTreeMap::<String, i64>::deserialize(deserializer)?;
        assert_ne!(map["n"], 13, "no luck");
        Ok(Self { n: map["n"] })
    }
}

impl JsonSchema for Fragile {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Fragile".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "object",
            "properties": {"n": {"type": "integer"}},
            "additionalProperties": false
        })
    }
}

fn registry() -> Registry {
    let strict = |properties: Value| json!({"type": "object", "properties": properties, "additionalProperties": false});
    Registry::define([
        Stream::json_schema("issue_viewed", strict(json!({"issueId": {"type": "string", "format": "uuid"}})))
            .identity("viewerId", ["sub"]),
        Stream::json_schema("needs_person", strict(json!({"a": {}})))
            .identity("personId", ["app_metadata", "person_id"]),
        Stream::json_schema("any_thing", json!({})),
        Stream::json_schema("other", json!({})),
        Stream::typed::<Fragile>("fragile"),
    ])
    .unwrap()
}

struct Door {
    router: axum::Router,
    queues: Arc<Queues>,
}

fn door() -> Door {
    door_with(Queues::default(), Arc::new(AdmitAll), registry())
}

fn door_with(queues: Queues, gate: Arc<dyn Gate>, registry: Registry) -> Door {
    door_of(queues, gate, registry, IngestOptions::default())
}

fn door_of(queues: Queues, gate: Arc<dyn Gate>, registry: Registry, options: IngestOptions) -> Door {
    let settings = TokenSettings { hs256_secret: Some(HS256_SECRET.into()), ..TokenSettings::default() };
    let tokens = settings.verifier(&registry, Arc::new(ManualClock::default())).unwrap();
    door_for(tokens, queues, gate, registry, options)
}

fn door_for(
    tokens: TokenVerifier,
    queues: Queues,
    gate: Arc<dyn Gate>,
    registry: Registry,
    options: IngestOptions,
) -> Door {
    let queues = Arc::new(queues);
    let producer = Arc::clone(&queues) as Arc<dyn Producer>;
    let ingest = Ingest { registry: Arc::new(registry), producer, gate, tokens, options };
    Door { router: router(Arc::new(ingest)), queues }
}

fn token() -> String {
    token_of("user-1")
}

fn token_of(sub: &str) -> String {
    hs256(&json!({"sub": sub, "exp": FAR_EXPIRY}))
}

fn request(body: impl Into<Body>) -> Request<Body> {
    Request::post("/api/events")
        .header("authorization", format!("Bearer {}", token()))
        .header("content-type", "application/json")
        .body(body.into())
        .unwrap()
}

struct Answered {
    status: u16,
    headers: axum::http::HeaderMap,
    body: Value,
}

impl Answered {
    /// `status` or `status: reason` of each verdict.
    fn verdicts(&self) -> Vec<String> {
        let acks = self.body["acks"].as_array().unwrap_or_else(|| panic!("no verdicts: {}", self.body));
        let verdict = |ack: &Value| match ack["reason"].as_str() {
            Some(reason) => format!("{}: {reason}", ack["status"].as_str().unwrap()),
            None => ack["status"].as_str().unwrap().to_owned(),
        };
        acks.iter().map(verdict).collect()
    }
}

impl Door {
    async fn ask(&self, request: Request<Body>) -> Answered {
        let response: Response<Body> = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = to_bytes(body, usize::MAX).await.unwrap();
        Answered {
            status: parts.status.as_u16(),
            headers: parts.headers,
            // An answer without a body has none to show.
            body: if bytes.is_empty() { Value::Null } else { serde_json::from_slice(&bytes).unwrap() },
        }
    }

    async fn send(&self, events: &[Event]) -> Answered {
        self.ask(request(batch(events))).await
    }
}

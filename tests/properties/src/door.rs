//! The door with queues that take everything, asked synchronously.

use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request};
use eventlane_contracts::{MessageBody, Registry, Stream, StreamName, text};
use eventlane_ingest::{AdmitAll, Ingest, IngestOptions, TokenSettings, router};
use eventlane_queue::{EnqueueError, Message, Producer};
use eventlane_testkit::{ManualClock, tokens};
use serde_json::json;
use tokio::runtime::Runtime;
use tower::ServiceExt;

/// Most bytes of a message that says what was wrong: it names places, it quotes nothing.
const MESSAGE_BYTES: usize = 512;

#[derive(Default)]
struct Taken(Mutex<Vec<Message>>);

impl Taken {
    fn messages(&self) -> MutexGuard<'_, Vec<Message>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Producer for Taken {
    async fn enqueue(&self, _: &StreamName, messages: &[Message]) -> Vec<Result<(), EnqueueError>> {
        self.messages().extend_from_slice(messages);
        messages.iter().map(|_| Ok(())).collect()
    }
}

/// A queued event: stream, id, payload.
pub(crate) type Queued = (String, String, String);

/// What the door said, and what it queued.
pub(crate) struct Answered {
    pub(crate) status: u16,
    pub(crate) body: String,
    pub(crate) queued: Vec<Queued>,
}

pub(crate) struct Door {
    runtime: Runtime,
    router: Router,
    taken: Arc<Taken>,
}

/// A stream that takes anything, and one that doesn't.
pub(crate) fn registry() -> &'static Arc<Registry> {
    static REGISTRY: LazyLock<Arc<Registry>> = LazyLock::new(|| {
        let issue = json!({
            "type": "object",
            "properties": {"issueId": {"type": "string", "format": "uuid"}},
            "required": ["issueId"],
            "additionalProperties": false
        });
        let streams = [
            Stream::json_schema("any_thing", json!({})).identity("who", ["sub"]),
            Stream::json_schema("issue_viewed", issue).identity("viewerId", ["sub"]),
        ];
        Arc::new(Registry::define(streams).expect("two sound streams"))
    });
    &REGISTRY
}

impl Door {
    pub(crate) fn open() -> Self {
        let taken = Arc::new(Taken::default());
        let settings = TokenSettings {
            hs256_secret: Some(tokens::HS256_SECRET.into()),
            rs256_public_key: Some(tokens::RSA_PUBLIC_PEM.into()),
            ..TokenSettings::default()
        };
        let router = router(Arc::new(Ingest {
            registry: Arc::clone(registry()),
            producer: Arc::clone(&taken) as Arc<dyn Producer>,
            gate: Arc::new(AdmitAll),
            tokens: settings.verifier(registry(), Arc::new(ManualClock::default())).expect("sound keys"),
            options: IngestOptions::default(),
        }));
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime can be had");
        Self { runtime, router, taken }
    }

    /// Posts a body. Whatever comes back keeps the shape of the wire.
    pub(crate) fn post(&self, headers: HeaderMap, body: &[u8]) -> Answered {
        self.taken.messages().clear();
        let mut request =
            Request::post("/api/events").body(Body::from(body.to_vec())).expect("a sound request");
        *request.headers_mut() = headers;
        let (status, body) = self.runtime.block_on(async {
            let response = self.router.clone().oneshot(request).await.expect("a router never fails");
            let status = response.status().as_u16();
            let bytes = to_bytes(response.into_body(), usize::MAX).await.expect("an answer in memory");
            (status, bytes.to_vec())
        });
        let body = String::from_utf8(body).expect("an answer is UTF-8");
        let queued = self.queued();
        if status != 200 {
            #[derive(serde::Deserialize)]
            #[serde(deny_unknown_fields)]
            struct Fault {
                message: String,
            }
            let fault: Fault = serde_json::from_str(&body).expect("a fault has a message and nothing else");
            assert!(fault.message.len() <= MESSAGE_BYTES, "a message of {} bytes", fault.message.len());
            assert!(queued.is_empty(), "a fault of the batch queues nothing");
        }
        Answered { status, body, queued }
    }

    fn queued(&self) -> Vec<Queued> {
        let mut queued = Vec::new();
        for message in self.taken.messages().iter() {
            assert!(message.body.chars().all(text::is_sendable), "SQS takes every character of a message");
            let body: MessageBody = serde_json::from_str(&message.body).expect("a message of ours");
            let stream = body.stream.to_string();
            let event = |event: eventlane_contracts::QueuedEvent| {
                (stream.clone(), event.event_id, event.payload.get().to_owned())
            };
            queued.extend(body.events.into_iter().map(event));
        }
        queued
    }
}

/// The head of a request with a token that holds.
pub(crate) fn head(bearer: &str) -> HeaderMap {
    let value = format!("Bearer {bearer}").parse().expect("a token of ours is a header value");
    HeaderMap::from_iter([(axum::http::header::AUTHORIZATION, value)])
}

/// A token that holds.
pub(crate) fn sound_token() -> String {
    tokens::hs256(&tokens::claims("user-1"))
}

/// Runs `ask` with this thread's door, opened once.
pub(crate) fn with<T>(ask: impl FnOnce(&Door) -> T) -> T {
    thread_local! {
        static DOOR: Door = Door::open();
    }
    DOOR.with(ask)
}

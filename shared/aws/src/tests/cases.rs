//! Cases from the field, asked of the whole door: requests in, a scripted SQS behind it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::Request;
use eventlane_contracts::{MessageBody, Registry, Stream};
use eventlane_ingest::{AdmitAll, Gate, Ingest, IngestOptions, TokenSettings, router};
use eventlane_testkit::envelopes::{Event, batch};
use eventlane_testkit::scripted_sqs::{Action, FOREVER, Fault, ScriptedSqs, Which};
use eventlane_testkit::{ManualClock, tokens};
use serde_json::{Value, json};
use tower::ServiceExt;

use super::queue_on;
use crate::Timeouts;

const SEND: Action = Action::SendMessageBatch;

/// A door with the streams `a` to `d`; `c` has no queue.
pub(super) struct Door {
    sqs: ScriptedSqs,
    router: Router,
}

pub(super) struct Answered {
    pub(super) status: u16,
    pub(super) retry_after: Option<String>,
    pub(super) body: Value,
}

impl Answered {
    /// The verdicts' words, in order.
    pub(super) fn words(&self) -> Vec<&str> {
        let acks = self.body["acks"].as_array().unwrap_or_else(|| panic!("no verdicts: {}", self.body));
        acks.iter().map(|ack| ack["status"].as_str().unwrap()).collect()
    }
}

pub(super) fn door() -> Door {
    door_with(Arc::new(AdmitAll), IngestOptions::default())
}

pub(super) fn door_with(gate: Arc<dyn Gate>, options: IngestOptions) -> Door {
    let clock = ManualClock::default();
    let sqs = ScriptedSqs::start(Arc::new(clock.clone()), ["lane-a", "lane-b", "lane-d"]);
    let settings = TokenSettings { hs256_secret: Some(tokens::HS256_SECRET.into()), ..Default::default() };
    let streams = ["a", "b", "c", "d"].map(|name| Stream::json_schema(name, json!({})));
    let registry = Arc::new(Registry::define(streams).unwrap());
    let ingest = Ingest {
        producer: Arc::new(queue_on(&sqs, &clock, Timeouts::default(), 1)),
        gate,
        tokens: settings.verifier(&registry, Arc::new(clock)).unwrap(),
        registry,
        options,
    };
    Door { sqs, router: router(Arc::new(ingest)) }
}

impl Door {
    pub(super) async fn send(&self, events: &[Event]) -> Answered {
        self.send_as(&json!({"sub": "user-1", "exp": tokens::FAR_EXPIRY}), events).await
    }

    pub(super) async fn send_as(&self, claims: &Value, events: &[Event]) -> Answered {
        let request = Request::post("/api/events")
            .header("authorization", format!("Bearer {}", tokens::hs256(claims)))
            .body(Body::from(batch(events)))
            .unwrap();
        let response = self.router.clone().oneshot(request).await.unwrap();
        let retry_after =
            response.headers().get("retry-after").map(|value| value.to_str().unwrap().to_owned());
        let status = response.status().as_u16();
        let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        Answered { status, retry_after, body: serde_json::from_slice(&bytes).unwrap() }
    }

    /// What a stream's queue holds, by event id: the payload as a value.
    pub(super) fn queued(&self, stream: &str) -> BTreeMap<String, Value> {
        let bodies = self.sqs.messages(&format!("lane-{stream}")).into_iter().map(|message| message.body);
        let events = bodies.flat_map(|body| serde_json::from_str::<MessageBody>(&body).unwrap().events);
        events.map(|event| (event.event_id.clone(), event.payload_as().unwrap())).collect()
    }
}

/// Events of one stream, each too large to share a message with the next seventeen.
fn large(count: u64) -> Vec<Event> {
    (0..count).map(|n| Event::new(n, "a", format!("\"{n:03}{}\"", "x".repeat(65_000)))).collect()
}

/// I15
#[tokio::test]
async fn characters_that_sqs_refuses_come_through_and_so_do_their_neighbours() {
    let door = door();
    let odd = [r#"{"s":"\uffff"}"#, r#"{"\ufffe":1}"#, "{\"s\":\"\u{FFFF}\"}", r#"{"s":"\u0000\u0001"}"#];
    let mut events: Vec<Event> = (1..).zip(odd).map(|(n, payload)| Event::new(n, "a", payload)).collect();
    events.push(Event::new(9, "a", r#"{"clean":1}"#));
    let answered = door.send(&events).await;
    assert_eq!((answered.status, answered.words()), (200, vec!["acked"; 5]));
    let queued: Vec<Value> = door.queued("a").into_values().collect();
    let sent = odd.into_iter().chain([r#"{"clean":1}"#]);
    assert_eq!(queued, sent.map(|text| serde_json::from_str(text).unwrap()).collect::<Vec<Value>>());
}

/// I15: SQS refuses a message for a reason we don't know: the one event goes, never a 503.
#[tokio::test]
async fn an_event_that_sqs_refuses_is_singled_out() {
    let door = door();
    let refused = Fault::refuse(Which::BodyWith("unlucky".into()), "InvalidMessageContents");
    let fired = door.sqs.fault("lane-a", SEND, FOREVER, refused);
    let payloads = ["1", "2", "\"unlucky\"", "4", "5"];
    let events: Vec<Event> = (1..).zip(payloads).map(|(n, payload)| Event::new(n, "a", payload)).collect();
    let answered = door.send(&events).await;
    assert_eq!(answered.words(), ["acked", "acked", "rejected", "acked", "acked"]);
    assert!(fired.fired() > 0);
    assert_eq!(door.queued("a").len(), 4);
}

/// I19
#[tokio::test]
async fn a_batch_that_is_all_rejected_makes_no_call() {
    let door = door();
    let bad = |n, stream| Event::new(n, stream, r#"{"k":1,"k":2}"#);
    let answered = door.send(&[bad(1, "a"), bad(2, "b")]).await;
    assert_eq!((answered.status, answered.words()), (200, vec!["rejected"; 2]));
    assert!(door.sqs.calls().is_empty());
    // A stream that is left empty beside one that isn't.
    assert_eq!(door.send(&[bad(1, "a"), Event::new(2, "b", "1")]).await.words(), ["rejected", "acked"]);
    assert_eq!(door.sqs.calls().len(), 1);
    assert_eq!(door.send(&[]).await.status, 400, "an empty list");
}

/// I35
#[tokio::test]
async fn only_what_sqs_lists_as_successful_is_acked() {
    let door = door();
    let events = large(40);
    let failed = door.sqs.fault("lane-a", SEND, 1, Fault::fail(Which::All));
    let omitted = door.sqs.fault("lane-a", SEND, 1, Fault::OmitEntries(Which::All));
    let answered = door.send(&events).await;
    assert_eq!((answered.status, failed.fired(), omitted.fired()), (200, 1, 1));
    let queued = door.queued("a");
    assert!(!queued.is_empty() && queued.len() < 40);
    for (ack, word) in answered.body["acks"].as_array().unwrap().iter().zip(answered.words()) {
        let expected =
            if queued.contains_key(ack["eventId"].as_str().unwrap()) { "acked" } else { "deferred" };
        assert_eq!(word, expected, "{ack}");
    }
}

/// I36, I39: of three calls the last hangs; what the others confirmed is told, in time.
#[tokio::test]
async fn a_call_that_hangs_leaves_the_verdicts_of_the_others() {
    let options = IngestOptions { answer_within: Duration::from_secs(1), ..IngestOptions::default() };
    let door = door_with(Arc::new(AdmitAll), options);
    let fired = door.sqs.fault("lane-a", SEND, 1, Fault::Hang);
    let answered = door.send(&large(40)).await;
    assert_eq!((answered.status, fired.fired()), (200, 1));
    let (queued, words) = (door.queued("a").len(), answered.words());
    assert!(queued > 0 && queued < 40);
    assert_eq!(words.iter().filter(|word| **word == "acked").count(), queued);
    assert_eq!(words.iter().filter(|word| **word == "deferred").count(), 40 - queued);
}

/// I37
#[tokio::test]
async fn one_bad_queue_defers_its_own_events_whatever_the_order() {
    let streams = ["a", "b", "c", "d"];
    for turn in 0..4 {
        let door = door();
        let fired = door.sqs.fault("lane-b", SEND, FOREVER, Fault::throttled());
        let order: Vec<&str> = streams.iter().cycle().skip(turn).take(4).copied().collect();
        let events: Vec<Event> = (1..).zip(&order).map(|(n, stream)| Event::new(n, stream, "1")).collect();
        let answered = door.send(&events).await;
        let expected: Vec<&str> =
            order.iter().map(|s| if matches!(*s, "a" | "d") { "acked" } else { "deferred" }).collect();
        assert_eq!((answered.status, answered.words()), (200, expected), "{order:?}");
        assert!(fired.fired() > 0);
        for ack in answered.body["acks"].as_array().unwrap() {
            assert_eq!(ack.get("reason").is_some(), ack["status"] == "deferred");
        }
    }
}

/// I37: 503 only when nothing at all could be queued, and for a cause of the whole service.
#[tokio::test]
async fn an_outage_says_that_nothing_was_queued() {
    for fault in [Fault::throttled(), Fault::Status(500), Fault::Reset] {
        let door = door();
        let fired = door.sqs.fault("*", SEND, FOREVER, fault.clone());
        let answered = door.send(&[Event::new(1, "a", "1"), Event::new(2, "b", "1")]).await;
        assert_eq!((answered.status, answered.retry_after.as_deref()), (503, Some("5")), "{fault:?}");
        assert!(answered.body["message"].as_str().unwrap().contains("nothing was queued"));
        assert!(fired.fired() >= 2 && door.queued("a").is_empty() && door.queued("b").is_empty());
        door.sqs.heal();
        door.sqs.fault("lane-a", SEND, FOREVER, fault);
        let missing = door.send(&[Event::new(1, "a", "1"), Event::new(2, "c", "1")]).await;
        assert_eq!(missing.words(), ["deferred", "deferred"], "a missing queue among them is no outage");
    }
}

/// I38: every call is within what SQS takes, which refuses it whole otherwise.
#[tokio::test]
async fn calls_are_split_to_what_one_may_hold() {
    let door = door();
    let answered = door.send(&large(60)).await;
    assert_eq!(answered.words(), ["acked"; 60]);
    assert_eq!(door.queued("a").len(), 60);
    let calls = door.sqs.calls();
    assert!(calls.len() >= 4 && calls.iter().all(|call| call.fault.is_none()));
}

/// I39
#[tokio::test]
async fn a_silent_service_is_503_in_time_and_nothing_goes_on() {
    let options = IngestOptions { answer_within: Duration::from_millis(400), ..IngestOptions::default() };
    let door = door_with(Arc::new(AdmitAll), options);
    let fired = door.sqs.fault("*", SEND, FOREVER, Fault::Hang);
    let answered = door.send(&[Event::new(1, "a", "1"), Event::new(2, "b", "1")]).await;
    assert_eq!((answered.status, answered.retry_after.as_deref(), fired.fired()), (503, Some("5"), 2));
    door.sqs.heal();
    assert_eq!(door.send(&[Event::new(3, "a", "1")]).await.words(), ["acked"]);
    assert_eq!((door.sqs.calls().len(), door.queued("a").len()), (3, 1), "what was given up stays so");
}

//! The lane's publisher, on a real queue file.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use eventlane_contracts::{MessageBody, Registry, Stream, StreamName, SystemClock};
use eventlane_queue::{Consumer, EmbeddedQueue, EnqueueError, Message, Producer};
use serde_json::json;

use super::engine::Engine;
use super::on_each_engine;
use crate::{Dispatcher, LanePublisher, LaneTopics, lane_payload};

on_each_engine!(
    a_row_becomes_an_event_of_its_stream,
    what_the_lane_can_never_take_is_dead_and_nothing_is_enqueued,
    a_queue_service_that_is_down_kills_nothing_and_a_broken_queue_stops_no_other,
);

fn registry() -> Arc<Registry> {
    let order = json!({
        "type": "object", "properties": {"n": {"type": "number"}}, "required": ["n"], "additionalProperties": false
    });
    let streams = [
        Stream::json_schema("order_created", order).identity("userId", ["sub"]),
        Stream::json_schema("ping", json!({"type": "string"})),
    ];
    Arc::new(Registry::define(streams).unwrap())
}

fn topics() -> Arc<LaneTopics> {
    let pairs = [("order.created", "order_created"), ("ping", "ping")];
    Arc::new(LaneTopics::mapped(registry(), pairs).unwrap())
}

fn queue(folder: &std::path::Path) -> EmbeddedQueue {
    let registry = registry();
    let names = registry.streams().map(Stream::name);
    EmbeddedQueue::open(&folder.join("queue.db"), names, Arc::new(SystemClock)).unwrap()
}

async fn bodies(queue: &EmbeddedQueue, stream: &str) -> Vec<MessageBody> {
    let stream = StreamName::new(stream).unwrap();
    let read = queue.receive(&stream, 10, Duration::from_secs(60), Duration::ZERO).await.unwrap();
    read.iter().map(|delivery| serde_json::from_str(&delivery.body).unwrap()).collect()
}

fn dispatcher(engine: &Engine, producer: Arc<dyn Producer>) -> Dispatcher {
    let publisher = LanePublisher::new(topics(), producer);
    Dispatcher::builder(engine.driver.clone(), Arc::new(publisher)).build().unwrap()
}

async fn a_row_becomes_an_event_of_its_stream(engine: &Engine) {
    let folder = tempfile::tempdir().unwrap();
    let queue = queue(folder.path());
    let identity = BTreeMap::from([("userId".to_owned(), "u1".to_owned())]);
    let payload = lane_payload(&identity, &json!({"n": 1.5})).unwrap();
    let id = engine.write("order.created", &payload).await;
    // Literally the sender's number, which no parser may rewrite.
    engine.write("order.created", r#"{ "payload": { "n" : 1.10 }, "identity": {"userId":"u2"} }"#).await;
    let report = dispatcher(engine, Arc::new(queue.clone())).run_once().await.unwrap();
    assert_eq!((report.delivered, report.failed), (2, 0));
    let bodies = bodies(&queue, "order_created").await;
    let mut events: Vec<_> = bodies.into_iter().flat_map(|body| body.events).collect();
    events.sort_by(|a, b| a.identity.cmp(&b.identity));
    assert_eq!(
        (&events[0].event_id, &events[0].identity, events[0].payload.get()),
        (&id, &identity, r#"{"n":1.5}"#)
    );
    assert_eq!(events[1].payload.get(), r#"{"n":1.10}"#);
    let now_us = i64::try_from(std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_micros()).unwrap();
    let occurred: i64 = events[0].occurred_at_us.parse().unwrap();
    assert!((now_us - occurred).abs() < 60_000_000, "{occurred}");
}

async fn what_the_lane_can_never_take_is_dead_and_nothing_is_enqueued(engine: &Engine) {
    let folder = tempfile::tempdir().unwrap();
    let queue = queue(folder.path());
    let deep = format!(r#"{{"identity":{{}},"payload":{}{}}}"#, "[".repeat(30_000), "]".repeat(30_000));
    let mut ids = Vec::new();
    for (topic, payload, why) in [
        ("nobody", r#"{"identity":{},"payload":"x"}"#, "no stream"),
        ("ping", "not json", "payload is not"),
        ("ping", r#""x""#, "payload is not"),
        ("ping", r#"{"payload":"x"}"#, "payload is not"),
        ("ping", r#"{"identity":{},"payload":"x","more":1}"#, "payload is not"),
        ("ping", r#"{"identity":{"a":"1","a":"2"},"payload":"x"}"#, "payload is not"),
        ("ping", r#"{"identity":{"a":1},"payload":"x"}"#, "payload is not"),
        ("ping", r#"{"identity":{"userId":"u"},"payload":"x"}"#, "identity userId"),
        ("ping", r#"{"identity":{},"payload":"\ud800"}"#, "surrogate"),
        ("ping", &deep, "nests deeper"),
        ("order.created", r#"{"identity":{},"payload":{"n":1}}"#, "identity userId"),
        ("order.created", r#"{"identity":{"userId":" "},"payload":{"n":1}}"#, "identity userId"),
        ("order.created", r#"{"identity":{"userId":"u"},"payload":{"n":"s3cret"}}"#, "/n"),
        ("order.created", r#"{"identity":{"userId":"u"},"payload":{"n":1,"n":2}}"#, "same key twice"),
    ] {
        ids.push((engine.write(topic, payload).await, why));
    }
    engine.exec("INSERT INTO eventlane_relay_outbox (id, topic, payload, created_at) SELECT 'no uuid', topic, '{\"identity\":{},\"payload\":\"x\"}', created_at FROM eventlane_relay_outbox WHERE payload = 'not json'").await;
    ids.push(("no uuid".to_owned(), "no UUID"));
    let report = dispatcher(engine, Arc::new(queue.clone())).run_once().await.unwrap();
    assert_eq!((report.dead, report.delivered), (ids.len() as u64, 0));
    for (id, why) in ids {
        let error = engine.standing(&id).await.error.unwrap();
        assert!(error.contains(why) && !error.contains("s3cret"), "{error:?} should hold {why:?}");
    }
    assert!(bodies(&queue, "ping").await.is_empty() && bodies(&queue, "order_created").await.is_empty());
}

/// Answers as told, by stream.
struct Told(EnqueueError);

#[async_trait]
impl Producer for Told {
    async fn enqueue(&self, stream: &StreamName, messages: &[Message]) -> Vec<Result<(), EnqueueError>> {
        let answer = if stream.as_str() == "ping" { Err(self.0.clone()) } else { Ok(()) };
        messages.iter().map(|_| answer.clone()).collect()
    }
}

async fn a_queue_service_that_is_down_kills_nothing_and_a_broken_queue_stops_no_other(engine: &Engine) {
    let ping = engine.write("ping", r#"{"identity":{},"payload":"x"}"#).await;
    engine.write("order.created", r#"{"identity":{"userId":"u"},"payload":{"n":1}}"#).await;
    let down = Told(EnqueueError::Unavailable("throttled".into()));
    let report = dispatcher(engine, Arc::new(down)).run_once().await.unwrap();
    assert_eq!((report.failed, report.released, report.delivered), (1, 1, 0));
    let row = engine.standing(&ping).await;
    assert_eq!((row.attempts, row.status.as_str()), (0, "pending"));
    engine.lapse().await;
    let missing = Told(EnqueueError::Queue("missing".into()));
    let report = dispatcher(engine, Arc::new(missing)).run_once().await.unwrap();
    assert_eq!((report.failed, report.released, report.delivered), (1, 0, 1));
    assert_eq!(engine.standing(&ping).await.attempts, 1);
    engine.lapse().await;
    let report = dispatcher(engine, Arc::new(Told(EnqueueError::Contents))).run_once().await.unwrap();
    assert_eq!(report.dead, 1, "one event that the queue refuses for its contents");
}

#[test]
fn a_mapping_names_every_offender() {
    let pairs = [("", "ping"), ("a", "nobody"), ("b", "ping"), ("b", "ping")];
    let error = LaneTopics::mapped(registry(), pairs).unwrap_err().to_string();
    for part in [
        "a topic is empty",
        "topic a: stream nobody is unknown; known are order_created, ping",
        "topic b is mapped twice",
    ] {
        assert!(error.contains(part), "{part} is missing in {error}");
    }
    assert!(LaneTopics::of_streams(registry()).check("ping", r#"{"identity":{},"payload":"x"}"#).is_ok());
}

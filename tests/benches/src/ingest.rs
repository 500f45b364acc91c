//! The ingest on one core, against a bare scan of the same bytes.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use axum::body::Body;
use axum::http::Request;
use axum::routing::post;
use axum::{Router, body};
use eventlane_contracts::wire::EVENTS_PATH;
use eventlane_contracts::{Registry, Stream, StreamName, SystemClock};
use eventlane_ingest::{AdmitAll, Ingest, IngestOptions, TokenSettings, TokenVerifier, router};
use eventlane_queue::{EnqueueError, Message, Producer};
use eventlane_testkit::envelopes::{Event, batch};
use eventlane_testkit::tokens;
use serde::de::IgnoredAny;
use serde_json::json;
use tower::ServiceExt;

use crate::append::PAYLOAD as SINGLE;
use crate::measure::{Rounds, float, rate, rounds, time, us_each};
use crate::plot::Line;
use crate::report::{Figure, Reach};

const ROUNDS: usize = 101;

/// Events of a full batch.
const FULL: usize = 1000;

/// Takes every message and forgets it.
struct Nowhere;

#[async_trait]
impl Producer for Nowhere {
    async fn enqueue(&self, _: &StreamName, messages: &[Message]) -> Vec<Result<(), EnqueueError>> {
        messages.iter().map(|_| Ok(())).collect()
    }
}

fn verifier() -> anyhow::Result<TokenVerifier> {
    let settings =
        TokenSettings { hs256_secret: Some(tokens::HS256_SECRET.into()), ..TokenSettings::default() };
    Ok(settings.verifier(&eventlane_lane::registry()?, Arc::new(SystemClock))?)
}

/// The door with the example's streams and a queue that takes everything.
pub(crate) fn door() -> anyhow::Result<Router> {
    door_of(eventlane_lane::registry()?)
}

fn door_of(registry: Registry) -> anyhow::Result<Router> {
    Ok(router(Arc::new(Ingest {
        registry: Arc::new(registry),
        producer: Arc::new(Nowhere),
        gate: Arc::new(AdmitAll),
        tokens: verifier()?,
        options: IngestOptions::default(),
    })))
}

pub(crate) fn token() -> String {
    tokens::hs256(&json!({"sub": "u1", "app_metadata": {"person_id": 7}, "exp": tokens::FAR_EXPIRY}))
}

pub(crate) fn request(token: &str, body: &str) -> Request<Body> {
    Request::post(EVENTS_PATH)
        .header("authorization", format!("Bearer {token}"))
        .header("content-type", "application/json")
        .body(body.to_owned().into())
        .expect("a sound request")
}

/// A batch of both typed streams in turn.
pub(crate) fn typed_batch(events: usize) -> String {
    let id = |n: u64| uuid::Uuid::from_u128(u128::from(n) << 64 | 0x8000);
    let event = |n: u64| match n % 2 {
        0 => Event::new(n, "issue_viewed", json!({"issueId": id(n)}).to_string()),
        _ => Event::new(n, "review_graded", json!({"cardId": id(n), "grade": n % 4 + 1}).to_string()),
    };
    batch(&(0..events as u64).map(event).collect::<Vec<_>>())
}

/// A batch of one stream, as a client's outbox holds it.
pub(crate) fn issue_batch(events: usize) -> String {
    batch(&(0..events as u64).map(|n| Event::new(n, "issue_viewed", SINGLE)).collect::<Vec<_>>())
}

fn schema_batch(events: usize) -> String {
    let lines = include_str!("../../fixtures/streams/bird_strike.jsonl");
    let events = lines.lines().take(events).zip(0..).map(|(line, n)| Event::new(n, "bird_strike", line));
    batch(&events.collect::<Vec<_>>())
}

pub(crate) fn typed() -> anyhow::Result<Figure> {
    full_batch("ingest_typed", 5.0, &typed_batch(FULL))
}

pub(crate) fn schema() -> anyhow::Result<Figure> {
    full_batch("ingest_schema", 9.0, &schema_batch(FULL))
}

fn full_batch(name: &'static str, reach: f64, text: &str) -> anyhow::Result<Figure> {
    let measured = against(&door()?, text, FULL, 1, || scan(text))?;
    let note = format!("{:.0?} a batch of {} bytes; scan {:.0?}", measured.part, text.len(), measured.limit);
    Ok(figure(name, reach, FULL, &measured, note))
}

/// A bare scan.
fn scan(text: &str) -> Duration {
    time(|| serde_json::from_slice::<IgnoredAny>(text.as_bytes()).is_ok())
}

/// Single requests in a round: one alone is too short to time.
const SINGLES: usize = 200;

/// One event against a bare verification of the token, a scan and an empty route.
pub(crate) fn single() -> anyhow::Result<Figure> {
    let text = batch(&[Event::new(1, "issue_viewed", SINGLE)]);
    let (runtime, token) = (runtime()?, token());
    let key = jsonwebtoken::DecodingKey::from_secret(tokens::HS256_SECRET.as_bytes())?;
    let validation = jsonwebtoken::Validation::new(jsonwebtoken::Algorithm::HS256);
    let verify =
        || jsonwebtoken::decode::<serde_json::Map<String, serde_json::Value>>(&token, &key, &validation);
    let empty = Router::new().route(EVENTS_PATH, post(async |_: body::Bytes| "{}"));
    let bare = || {
        let requests: Vec<_> = (0..SINGLES).map(|_| request(&token, &text)).collect();
        time(|| {
            for request in requests {
                let verified = verify().is_ok();
                let scanned = serde_json::from_slice::<IgnoredAny>(text.as_bytes()).is_ok();
                let answered = runtime.block_on(empty.clone().oneshot(request)).is_ok();
                assert!(verified && scanned && answered);
            }
        })
    };
    let measured = against(&door()?, &text, 1, SINGLES, bare)?;
    let note = format!(
        "{:.1} µs a request; token, scan and empty route {:.1} µs",
        us_each(SINGLES, measured.part),
        us_each(SINGLES, measured.limit)
    );
    Ok(figure("ingest_single", 2.0, SINGLES, &measured, note))
}

fn against(
    door: &Router,
    text: &str,
    events: usize,
    requests: usize,
    limit: impl FnMut() -> Duration,
) -> anyhow::Result<Rounds> {
    let (runtime, token) = (runtime()?, token());
    let part = || post_all(&runtime, door, &token, text, events, requests);
    Ok(rounds(ROUNDS, part, limit))
}

/// The time of so many requests one after the other; every event of each has to be acked.
pub(crate) fn post_all(
    runtime: &tokio::runtime::Runtime,
    door: &Router,
    token: &str,
    text: &str,
    events: usize,
    requests: usize,
) -> Duration {
    let requests: Vec<_> = (0..requests).map(|_| request(token, text)).collect();
    let mut answers = Vec::with_capacity(requests.len());
    let took = time(|| {
        for request in requests {
            answers.push(runtime.block_on(door.clone().oneshot(request)).expect("a router answers"));
        }
    });
    for answer in answers {
        let body = runtime.block_on(body::to_bytes(answer.into_body(), usize::MAX)).expect("a body");
        let acked = String::from_utf8_lossy(&body).matches("\"acked\"").count();
        assert_eq!(acked, events, "what is measured has to be right");
    }
    took
}

/// The hot path alone, for counting its instructions.
pub(crate) fn repeat(name: &str, times: usize) -> anyhow::Result<()> {
    let (text, events) = match name {
        "ingest_typed" => (typed_batch(FULL), FULL),
        "ingest_schema" => (schema_batch(FULL), FULL),
        _ => (batch(&[Event::new(1, "issue_viewed", SINGLE)]), 1),
    };
    post_all(&runtime()?, &door()?, &token(), &text, events, times);
    Ok(())
}

/// Microseconds an event by events in the batch, beside the scan.
pub(crate) fn by_events() -> anyhow::Result<Vec<Line>> {
    let door = door()?;
    let mut lines = Vec::new();
    for (name, batch) in [("typed", typed_batch as fn(usize) -> String), ("JSON Schema", schema_batch)] {
        let (mut ours, mut bare) = (Vec::new(), Vec::new());
        for events in [1usize, 3, 10, 30, 100, 300, 1000] {
            let text = batch(events);
            let measured = against(&door, &text, events, 1, || scan(&text))?;
            ours.push((float(events), us_each(events, measured.part)));
            bare.push((float(events), us_each(events, measured.limit)));
        }
        lines.push(Line::new(&format!("ingest, {name}"), ours));
        lines.push(Line::new(&format!("bare scan, {name}"), bare));
    }
    Ok(lines)
}

/// Microseconds an event by streams in a batch of 1,000.
pub(crate) fn by_streams() -> anyhow::Result<Vec<Line>> {
    let mut points = Vec::new();
    for streams in [1usize, 3, 10, 30, 100, 300] {
        let names: Vec<String> = (0..streams).map(|n| format!("stream_{n}")).collect();
        let definitions = names.iter().map(|name| Stream::json_schema(name, note()).identity("who", ["sub"]));
        let door = door_of(Registry::define(definitions)?)?;
        let events: Vec<_> = (0..FULL)
            .map(|n| Event::new(n as u64, &names[n % streams], r#"{"text":"a short note"}"#))
            .collect();
        let text = batch(&events);
        let measured = against(&door, &text, FULL, 1, || scan(&text))?;
        points.push((float(streams), us_each(FULL, measured.part)));
    }
    Ok(vec![Line::new("ingest of 1,000 events", points)])
}

/// Microseconds an event by payload bytes, in batches of at most 1,000 events and 4 MB.
pub(crate) fn by_payload() -> anyhow::Result<Vec<Line>> {
    let door = door_of(Registry::define([Stream::json_schema("note", note()).identity("who", ["sub"])])?)?;
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for bytes in [64usize, 256, 1024, 4096, 16_384, 65_536] {
        let events = (4_000_000 / (bytes + 160)).min(FULL);
        let payload = json!({"text": "x".repeat(bytes - 11)}).to_string();
        let text = batch(&(0..events as u64).map(|n| Event::new(n, "note", &payload)).collect::<Vec<_>>());
        let measured = against(&door, &text, events, 1, || scan(&text))?;
        ours.push((float(bytes), us_each(events, measured.part)));
        bare.push((float(bytes), us_each(events, measured.limit)));
    }
    Ok(vec![Line::new("ingest", ours), Line::new("bare scan", bare)])
}

fn note() -> serde_json::Value {
    json!({
        "type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"],
        "additionalProperties": false
    })
}

fn figure(name: &'static str, reach: f64, events: usize, measured: &Rounds, note: String) -> Figure {
    Figure {
        name,
        value: rate(events, measured.part),
        unit: "events/s",
        ratio: Some(measured.ratio),
        reach: Reach::AtMost(reach),
        spread: Some(measured.spread),
        note,
    }
}

/// One core.
pub(crate) fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}

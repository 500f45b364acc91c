//! The ingest on one core, against a bare scan of the same bytes.

use std::sync::Arc;

use async_trait::async_trait;
use axum::body::Body;
use axum::http::Request;
use axum::routing::post;
use axum::{Router, body};
use eventlane_contracts::wire::EVENTS_PATH;
use eventlane_contracts::{StreamName, SystemClock};
use eventlane_ingest::{AdmitAll, Ingest, IngestOptions, TokenSettings, TokenVerifier, router};
use eventlane_queue::{EnqueueError, Message, Producer};
use eventlane_testkit::envelopes::{Event, batch};
use eventlane_testkit::tokens;
use serde::de::IgnoredAny;
use serde_json::json;
use tower::ServiceExt;

use crate::measure::{Rounds, rate, rounds, time};
use crate::report::Figure;

const ROUNDS: usize = 60;

/// Takes every message and forgets it.
struct Nowhere;

#[async_trait]
impl Producer for Nowhere {
    async fn enqueue(&self, _: &StreamName, messages: &[Message]) -> Vec<Result<(), EnqueueError>> {
        messages.iter().map(|_| Ok(())).collect()
    }
}

pub(crate) fn verifier() -> anyhow::Result<TokenVerifier> {
    let settings =
        TokenSettings { hs256_secret: Some(tokens::HS256_SECRET.into()), ..TokenSettings::default() };
    Ok(settings.verifier(&eventlane_lane::registry()?, Arc::new(SystemClock))?)
}

pub(crate) fn door() -> anyhow::Result<Router> {
    Ok(router(Arc::new(Ingest {
        registry: Arc::new(eventlane_lane::registry()?),
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

/// A full batch of both typed streams.
pub(crate) fn typed_batch() -> String {
    let id = |n: u64| uuid::Uuid::from_u128(u128::from(n) << 64 | 0x8000);
    let event = |n: u64| match n % 2 {
        0 => Event::new(n, "issue_viewed", json!({"issueId": id(n)}).to_string()),
        _ => Event::new(n, "review_graded", json!({"cardId": id(n), "grade": n % 4 + 1}).to_string()),
    };
    batch(&(0..1000).map(event).collect::<Vec<_>>())
}

fn schema_batch() -> String {
    let lines = include_str!("../../fixtures/streams/bird_strike.jsonl");
    let events = lines.lines().take(1000).zip(0..).map(|(line, n)| Event::new(n, "bird_strike", line));
    batch(&events.collect::<Vec<_>>())
}

pub(crate) fn typed() -> anyhow::Result<Figure> {
    full_batch("ingest_typed", "<= 5", &typed_batch())
}

pub(crate) fn schema() -> anyhow::Result<Figure> {
    full_batch("ingest_schema", "<= 9", &schema_batch())
}

fn full_batch(name: &'static str, reach: &'static str, text: &str) -> anyhow::Result<Figure> {
    let scan = || time(|| serde_json::from_str::<IgnoredAny>(text).is_ok());
    let measured = against(text, 1000, scan)?;
    Ok(figure(name, reach, 1000, &measured))
}

/// One event against a bare verification of the token, a scan and an empty route.
pub(crate) fn single() -> anyhow::Result<Figure> {
    let text =
        batch(&[Event::new(1, "issue_viewed", r#"{"issueId":"b48b36ee-0d62-4382-8f6b-17f0b6b3bd77"}"#)]);
    let (runtime, token, tokens) = (runtime()?, token(), verifier()?);
    let empty = Router::new().route(EVENTS_PATH, post(async |_: body::Bytes| "{}"));
    let bare = || {
        let requests: Vec<_> = (0..SINGLES).map(|_| request(&token, &text)).collect();
        time(|| {
            for request in requests {
                let verified = runtime.block_on(tokens.verify(&token)).is_ok();
                let scanned = serde_json::from_str::<IgnoredAny>(&text).is_ok();
                let answered = runtime.block_on(empty.clone().oneshot(request)).is_ok();
                assert!(verified && scanned && answered);
            }
        })
    };
    let measured = against_many(&text, 1, SINGLES, bare)?;
    Ok(figure("ingest_single", "<= 2", SINGLES, &measured))
}

/// Single requests in a round: one alone is too short to time.
const SINGLES: usize = 200;

fn against(text: &str, events: usize, limit: impl FnMut() -> std::time::Duration) -> anyhow::Result<Rounds> {
    against_many(text, events, 1, limit)
}

fn against_many(
    text: &str,
    events: usize,
    requests: usize,
    limit: impl FnMut() -> std::time::Duration,
) -> anyhow::Result<Rounds> {
    let (runtime, door, token) = (runtime()?, door()?, token());
    let part = || {
        let requests: Vec<_> = (0..requests).map(|_| request(&token, text)).collect();
        let mut answers = Vec::new();
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
    };
    Ok(rounds(ROUNDS, part, limit))
}

fn figure(name: &'static str, reach: &'static str, events: usize, measured: &Rounds) -> Figure {
    Figure {
        name,
        value: rate(events, measured.part),
        unit: "events/s",
        ratio: Some(measured.ratio),
        reach,
        spread: Some(measured.spread),
    }
}

/// One core.
pub(crate) fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}

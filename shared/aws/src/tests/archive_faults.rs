//! The archive when DynamoDB fails: a double that answers puts as told.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use eventlane_consumer::{Archive, ArchiveError, Stored};
use eventlane_contracts::QueuedEvent;
use eventlane_testkit::ManualClock;
use eventlane_testkit::server::LocalServer;
use serde_json::value::RawValue;

use super::{config, stream};
use crate::{DynamoArchive, Timeouts};

const SLOW: &str = "ProvisionedThroughputExceededException";

/// What the double does with a put, from the put's number and its text.
type Judge = fn(usize, &str) -> Answer;

enum Answer {
    Taken,
    Refused(&'static str),
    Never,
}

struct Double {
    judge: Judge,
    puts: AtomicUsize,
}

async fn answer(State(double): State<Arc<Double>>, body: String) -> Response {
    let number = double.puts.fetch_add(1, Ordering::SeqCst);
    let (status, body) = match (double.judge)(number, &body) {
        Answer::Taken => (StatusCode::OK, "{}".to_owned()),
        Answer::Refused(code) => {
            (StatusCode::BAD_REQUEST, format!(r#"{{"__type":"x#{code}","message":"m"}}"#))
        }
        Answer::Never => std::future::pending().await,
    };
    (status, [(header::CONTENT_TYPE, "application/x-amz-json-1.0")], body).into_response()
}

async fn store(judge: Judge, timeouts: Timeouts, events: u32) -> (Result<Stored, ArchiveError>, usize) {
    let double = Arc::new(Double { judge, puts: AtomicUsize::new(0) });
    let server = LocalServer::start(Router::new().fallback(answer).with_state(Arc::clone(&double)));
    let config = config(&server.url(), timeouts, 3);
    let archive = DynamoArchive::new(&config, "archive", Arc::new(ManualClock::default()));
    let events: Vec<QueuedEvent> = (0..events).map(event).collect();
    let stored = archive.store(&stream("a"), &events).await;
    (stored, double.puts.load(Ordering::SeqCst))
}

fn event(id: u32) -> QueuedEvent {
    QueuedEvent {
        event_id: format!("id-{id}-"),
        occurred_at_us: "1".to_owned(),
        identity: BTreeMap::new(),
        payload: RawValue::from_string("1".to_owned()).unwrap(),
    }
}

#[tokio::test]
async fn throttled_puts_are_tried_again() {
    let judge: Judge = |number, _| if number < 2 { Answer::Refused(SLOW) } else { Answer::Taken };
    let (stored, puts) = store(judge, Timeouts::default(), 1).await;
    assert_eq!((stored, puts), (Ok(Stored { new: 1, duplicates: 0, conflicts: 0 }), 3));
}

#[tokio::test]
async fn one_put_that_fails_fails_the_store_after_the_others() {
    let judge: Judge = |_, put| {
        if put.contains("id-0-") { Answer::Refused("ValidationException") } else { Answer::Taken }
    };
    let (stored, puts) = store(judge, Timeouts::default(), 40).await;
    assert_eq!((stored, puts), (Err(ArchiveError("ValidationException".into())), 40));
}

#[tokio::test]
async fn a_table_that_stays_too_slow_fails_the_store() {
    let (stored, puts) = store(|_, _| Answer::Refused(SLOW), Timeouts::default(), 1).await;
    assert_eq!((stored, puts), (Err(ArchiveError(SLOW.into())), 3));
}

#[tokio::test]
async fn a_silent_service_fails_the_store_within_the_deadline() {
    let short = Duration::from_millis(100);
    let timeouts = Timeouts { connect: short, attempt: short, operation: 2 * short };
    let (stored, _) = store(|_, _| Answer::Never, timeouts, 1).await;
    assert_eq!(stored, Err(ArchiveError("timeout".into())));
}

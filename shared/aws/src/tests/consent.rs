//! Consent when DynamoDB fails: a double that answers reads as told. What can't be read is deferred.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use eventlane_contracts::ClaimPath;
use eventlane_ingest::IngestOptions;
use eventlane_testkit::envelopes::Event;
use eventlane_testkit::server::LocalServer;
use eventlane_testkit::tokens;
use serde_json::{Value, json};

use super::cases::{Door, door_with};
use super::config;
use crate::{ConsentDefault, DynamoConsent, Timeouts};

/// What a read is answered with.
#[derive(Clone)]
enum Answer {
    Item(Value),
    Nothing,
    Refused(StatusCode, &'static str),
    Never,
}

struct Double {
    answer: Answer,
    reads: Mutex<Vec<Value>>,
}

async fn read(State(double): State<Arc<Double>>, body: String) -> Response {
    double.reads.lock().unwrap().push(serde_json::from_str(&body).unwrap());
    let (status, body) = match &double.answer {
        Answer::Item(item) => (StatusCode::OK, json!({ "Item": item })),
        Answer::Nothing => (StatusCode::OK, json!({})),
        Answer::Refused(status, code) => {
            (*status, json!({"__type": format!("x#{code}"), "message": "user-1"}))
        }
        Answer::Never => std::future::pending().await,
    };
    (status, [(header::CONTENT_TYPE, "application/x-amz-json-1.0")], body.to_string()).into_response()
}

struct Lane {
    door: Door,
    double: Arc<Double>,
    _server: LocalServer,
}

fn lane(answer: Answer, build: impl FnOnce(DynamoConsent) -> DynamoConsent) -> Lane {
    let double = Arc::new(Double { answer, reads: Mutex::default() });
    let server = LocalServer::start(Router::new().fallback(read).with_state(Arc::clone(&double)));
    let gate = build(DynamoConsent::new(&config(&server.url(), Timeouts::default(), 3), "consent"));
    let options = IngestOptions { gate_timeout: Duration::from_secs(2), ..IngestOptions::default() };
    Lane { door: door_with(Arc::new(gate), options), double, _server: server }
}

fn mixed() -> [Event; 4] {
    [Event::new(1, "a", "1"), Event::new(2, "b", "1"), Event::new(3, "a", "2"), Event::new(4, "nobodys", "1")]
}

#[tokio::test]
async fn a_request_reads_its_subject_once_and_consistently() {
    let lane = lane(Answer::Item(json!({"granted": {"SS": ["a"]}})), |gate| gate);
    assert_eq!(lane.door.send(&mixed()).await.words(), ["acked", "refused", "acked", "deferred"]);
    let reads = lane.double.reads.lock().unwrap().clone();
    assert_eq!(reads.len(), 1, "one read for three events of two streams");
    assert_eq!(reads[0]["ConsistentRead"], true);
    assert_eq!(reads[0]["Key"], json!({"subject": {"S": "user-1"}}));
    assert_eq!(reads[0]["TableName"], "consent");
    lane.door.send(&mixed()).await;
    assert_eq!(lane.double.reads.lock().unwrap().len(), 2, "another request reads again");
    lane.door.send(&[Event::new(1, "nobodys", "1")]).await;
    assert_eq!(lane.double.reads.lock().unwrap().len(), 2, "and one that asks nothing reads nothing");
}

#[tokio::test]
async fn without_an_item_the_default_holds() {
    let denied = lane(Answer::Nothing, |gate| gate);
    assert_eq!(denied.door.send(&mixed()[..2]).await.words(), ["refused", "refused"], "deny unless set");
    let allowed = lane(Answer::Nothing, |gate| gate.with_default(ConsentDefault::Allow));
    assert_eq!(allowed.door.send(&mixed()[..2]).await.words(), ["acked", "acked"]);
}

#[tokio::test]
async fn a_table_that_cant_answer_is_neither_a_yes_nor_a_no() {
    let throttled = "ProvisionedThroughputExceededException";
    for (answer, reads) in [
        (Answer::Refused(StatusCode::BAD_REQUEST, throttled), 3),
        (Answer::Refused(StatusCode::INTERNAL_SERVER_ERROR, "InternalServerError"), 3),
        (Answer::Refused(StatusCode::BAD_REQUEST, "ResourceNotFoundException"), 1),
        (Answer::Item(json!({"granted": {"S": "a"}})), 1),
    ] {
        let lane = lane(answer, |gate| gate.with_default(ConsentDefault::Allow));
        assert_eq!(lane.door.send(&mixed()).await.words(), ["deferred"; 4]);
        assert_eq!(lane.double.reads.lock().unwrap().len(), reads, "throttling is tried again");
        assert_eq!(lane.door.send(&mixed()[..3]).await.status, 500, "when it fails for every event");
        assert!(lane.door.queued("a").is_empty());
    }
}

/// I39
#[tokio::test]
async fn a_silent_table_is_deferred_in_the_gates_time() {
    let lane = lane(Answer::Never, |gate| gate);
    assert_eq!(lane.door.send(&mixed()).await.words(), ["deferred"; 4]);
    assert_eq!(lane.double.reads.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn the_subject_is_the_claim_that_was_chosen_and_without_it_nobody_is_asked() {
    let claim = ClaimPath::new(["app_metadata", "person_id"]);
    let lane = lane(Answer::Nothing, |gate| gate.with_claim(claim).with_default(ConsentDefault::Allow));
    let claims =
        |person: Value| json!({"sub": "x", "app_metadata": {"person_id": person}, "exp": tokens::FAR_EXPIRY});
    assert_eq!(lane.door.send_as(&claims(json!(7)), &mixed()[..1]).await.words(), ["acked"]);
    assert_eq!(lane.double.reads.lock().unwrap()[0]["Key"], json!({"subject": {"S": "7"}}));
    for odd in [json!(null), json!([7]), json!(" "), json!({"n": 7})] {
        assert_eq!(lane.door.send_as(&claims(odd), &mixed()).await.words(), ["deferred"; 4]);
    }
    assert_eq!(lane.double.reads.lock().unwrap().len(), 1);
}

//! What the observer is told of each request: counts by stable words, and no sender's text.

use super::*;
use crate::{Observer, RequestReport, VerdictCount};

#[derive(Default)]
struct Notes(Mutex<Vec<RequestReport>>);

impl Observer for Notes {
    fn answered(&self, report: &RequestReport) {
        self.0.lock().unwrap().push(report.clone());
    }
}

fn noted(faults: impl IntoIterator<Item = (&'static str, EnqueueError)>) -> (Door, Arc<Notes>) {
    let notes = Arc::new(Notes::default());
    let options = IngestOptions { observer: Some(notes.clone()), ..IngestOptions::default() };
    let queues = Queues { faults: faults.into_iter().collect(), ..Queues::default() };
    (door_of(queues, Arc::new(AdmitAll), registry(), options), notes)
}

#[tokio::test]
async fn verdicts_are_counted_by_stream_status_and_reason() {
    let (door, notes) = noted([("other", EnqueueError::Queue("missing".into()))]);
    let payload = r#"{"issueId":"bbbbbbbb-bbbb-4bbb-8bbb-bbbbbbbbbbbb"}"#;
    let events = [
        Event::new(1, "any_thing", "1"),
        Event::new(2, "any_thing", "2"),
        Event::new(3, "any_thing", r#"{"a":1,"a":1}"#),
        Event::new(4, "s3cret_of_a_stranger", "1"),
        Event::new(5, "another s3cret", "1"),
        Event::new(6, "other", "1"),
        Event::new(7, "fragile", r#"{"n":13}"#),
        Event::new(8, "needs_person", r#"{"a":1}"#),
        Event::new(9, "issue_viewed", payload).occurred_at_us("99999999999999999999"),
    ];
    let body = batch(&events);
    door.ask(request(body.clone())).await;
    let report = notes.0.lock().unwrap().remove(0);
    let count = |stream: &str, status, reason, events| VerdictCount {
        stream: stream.to_owned(),
        status,
        reason,
        events,
    };
    let mut expected = [
        count("any_thing", "acked", "acked", 2),
        count("any_thing", "rejected", "duplicate_key", 1),
        count("unknown", "deferred", "unknown_stream", 2),
        count("other", "deferred", "queue", 1),
        count("fragile", "deferred", "internal", 1),
        count("needs_person", "rejected", "identity", 1),
        count("issue_viewed", "rejected", "occurred_at", 1),
    ];
    expected.sort_by(|a, b| (&a.stream, a.status).cmp(&(&b.stream, b.status)));
    let mut verdicts = report.verdicts.clone();
    verdicts.sort_by(|a, b| (&a.stream, a.status).cmp(&(&b.stream, b.status)));
    assert_eq!(verdicts, expected);
    assert_eq!((report.status, report.fault, report.bytes), (200, None, body.len()));
    assert_eq!((report.events_with("deferred"), report.events_with("acked")), (4, 2));
    assert!(report.enqueue_took.is_some_and(|took| took <= report.took));
}

#[tokio::test]
async fn a_request_that_is_not_taken_is_told_by_its_fault() {
    let (door, notes) = noted([("other", EnqueueError::Unavailable("down".into()))]);
    let mut stranger = request("{");
    stranger.headers_mut().insert("authorization", "Bearer a.b.c".parse().unwrap());
    door.ask(stranger).await;
    door.ask(request("{")).await;
    door.send(&[Event::new(1, "other", "1")]).await;
    door.ask(Request::get("/nowhere").body(Body::empty()).unwrap()).await;
    let told: Vec<_> = notes.0.lock().unwrap().iter().map(|report| (report.status, report.fault)).collect();
    assert_eq!(
        told,
        [
            (401, Some("token_malformed")),
            (400, Some("framing")),
            (503, Some("unavailable")),
            (404, Some("not_found"))
        ]
    );
}

/// Has a bug.
struct Fragile;

impl Observer for Fragile {
    fn answered(&self, _: &RequestReport) {
        panic!("as told")
    }
}

#[tokio::test]
async fn an_observers_panic_costs_no_answer() {
    let options = IngestOptions { observer: Some(Arc::new(Fragile)), ..IngestOptions::default() };
    let door = door_of(Queues::default(), Arc::new(AdmitAll), registry(), options);
    assert_eq!(door.send(&[Event::new(1, "any_thing", "1")]).await.verdicts(), ["acked"]);
}

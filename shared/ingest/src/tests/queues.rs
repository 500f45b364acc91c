//! Honest enqueue: `acked` is what a queue confirmed, and one queue's fault is its own.

use eventlane_contracts::limits::MESSAGE_BYTES;

use super::*;

fn down() -> EnqueueError {
    EnqueueError::Unavailable("connect".into())
}

fn missing() -> EnqueueError {
    EnqueueError::Queue("missing".into())
}

fn faulty(faults: impl IntoIterator<Item = (&'static str, EnqueueError)>) -> Door {
    let queues = Queues { faults: faults.into_iter().collect(), ..Queues::default() };
    door_with(queues, Arc::new(AdmitAll), registry())
}

fn mixed() -> [Event; 3] {
    [Event::new(1, "other", "1"), Event::new(2, "any_thing", "2"), Event::new(3, "other", "3")]
}

#[tokio::test]
async fn a_missing_queue_defers_its_events_and_no_others() {
    let door = faulty([("other", missing())]);
    let verdicts = door.send(&mixed()).await.verdicts();
    assert_eq!(verdicts[1], "acked");
    for index in [0, 2] {
        assert!(verdicts[index].starts_with("deferred: the stream's queue can't be used"), "{verdicts:?}");
    }
    let alone = door.send(&[Event::new(1, "other", "1")]).await;
    assert_eq!((alone.status, alone.verdicts().len()), (200, 1), "not 503, even when it was the only one");
}

#[tokio::test]
async fn one_stream_throttled_is_no_outage() {
    let door = faulty([("other", down())]);
    let verdicts = door.send(&mixed()).await.verdicts();
    assert!(verdicts[0].starts_with("deferred: "));
    assert_eq!(verdicts[1], "acked");
    let both_ways = faulty([("other", down()), ("any_thing", missing())]);
    assert_eq!(
        both_ways.send(&mixed()).await.status,
        200,
        "a queue's own fault among them is no outage either"
    );
}

#[tokio::test]
async fn an_outage_is_503_without_verdicts_and_nothing_queued() {
    let door = faulty([("other", down()), ("any_thing", down())]);
    let mut events = mixed().to_vec();
    events.push(Event::new(4, "not_deployed", "1"));
    let answered = door.send(&events).await;
    assert_eq!((answered.status, answered.headers["retry-after"].as_bytes()), (503, &b"5"[..]));
    assert!(answered.body.get("acks").is_none() && answered.body["message"].is_string());
    assert!(door.queues.messages().is_empty());
}

#[tokio::test]
async fn nothing_to_queue_makes_no_call() {
    let door = faulty([("any_thing", down())]);
    let answered = door.send(&[Event::new(1, "any_thing", r#"{"a":1,"a":1}"#)]).await;
    assert_eq!(answered.status, 200);
    assert_eq!(*door.queues.calls.lock().unwrap(), 0);
}

#[tokio::test]
async fn a_large_batch_arrives_whole_in_order_and_within_the_limit() {
    let door = door();
    let payload = |n: u64| format!("\"{n:04}{}\"", "x".repeat(3994));
    let events: Vec<Event> = (0..1000).map(|n| Event::new(n, "any_thing", payload(n))).collect();
    let answered = door.send(&events).await;
    assert!(answered.verdicts().iter().all(|verdict| verdict == "acked"));
    let messages = door.queues.messages();
    assert!(messages.len() >= 4 && messages.iter().all(|message| message.bytes() <= MESSAGE_BYTES));
    let payloads: Vec<String> =
        door.queues.events().iter().map(|event| event.payload.get().to_owned()).collect();
    assert_eq!(payloads, (0..1000).map(payload).collect::<Vec<_>>());
}

#[tokio::test]
async fn the_trace_context_rides_along_when_it_is_one() {
    let door = door();
    let sound = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    for (value, expected) in [(sound, Some(sound)), ("00-zz-1-01", None), ("x", None)] {
        let mut request = request(batch(&[Event::new(1, "any_thing", "1")]));
        request.headers_mut().insert("traceparent", value.parse().unwrap());
        assert_eq!(door.ask(request).await.status, 200);
        let message = door.queues.messages().pop().unwrap();
        assert_eq!(message.attributes.traceparent.as_deref(), expected);
    }
}

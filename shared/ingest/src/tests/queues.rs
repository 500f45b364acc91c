//! Honest enqueue: `acked` is what a queue confirmed, and one queue's fault is its own.

use std::time::Duration;

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

/// I19: a batch whose every event is rejected, and a stream that is left empty.
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
async fn the_trace_context_rides_along_when_it_is_one_and_a_hostile_one_costs_nothing() {
    let door = door();
    let sound = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let xray = "Root=1-0af76519-16cd43dd8448eb211c80319c;Parent=b7ad6b7169203331;Sampled=1";
    let huge = "0".repeat(60_000);
    for (w3c, amazon, expected) in [
        (&[sound.as_bytes()][..], "", Some(sound)),
        (&[], xray, Some(sound)),
        (&[b"nonsense"], xray, Some(sound)),
        (&[sound.as_bytes()], "Root=nonsense", Some(sound)),
        (&[], "Root=1-0af76519-16cd43dd8448eb211c80319c", None),
        (&[sound.as_bytes(), sound.as_bytes()], "", None),
        (&[b"00-zz-1-01"], "", None),
        (&[b"00-\xef\xbf\xbf-\xff-01"], "", None),
        (&[huge.as_bytes()], &huge, None),
    ] {
        let mut request = request(batch(&[Event::new(1, "any_thing", "1")]));
        for value in w3c {
            let value = axum::http::HeaderValue::from_bytes(value).unwrap();
            request.headers_mut().append("traceparent", value);
        }
        request.headers_mut().append("x-amzn-trace-id", amazon.parse().unwrap());
        assert_eq!(door.ask(request).await.verdicts(), ["acked"]);
        let message = door.queues.messages().pop().unwrap();
        assert_eq!(message.attributes.traceparent.as_deref(), expected, "{w3c:?} {amazon}");
        assert!(message.is_sendable());
    }
}

/// Confirms the first messages of a stream and then hangs, as a backend of several calls may.
struct HangsAfter(usize);

#[async_trait]
impl Producer for HangsAfter {
    async fn enqueue(&self, stream: &StreamName, messages: &[Message]) -> Vec<Result<(), EnqueueError>> {
        if stream.as_str() == "other" {
            std::future::pending::<()>().await;
        }
        messages.iter().map(|_| Ok(())).collect()
    }

    async fn enqueue_by(
        &self,
        stream: &StreamName,
        messages: &[Message],
        deadline: tokio::time::Instant,
    ) -> Vec<Result<(), EnqueueError>> {
        if stream.as_str() == "other" {
            tokio::time::sleep_until(deadline).await;
            let late = messages.iter().skip(self.0).map(|_| Err(EnqueueError::out_of_time()));
            return std::iter::repeat_n(Ok(()), self.0.min(messages.len())).chain(late).collect();
        }
        self.enqueue(stream, messages).await
    }
}

/// I39, I36
#[tokio::test(start_paused = true)]
async fn the_answer_is_written_in_its_time_whatever_hangs() {
    let settings = TokenSettings { hs256_secret: Some(HS256_SECRET.into()), ..Default::default() };
    let hung = |confirmed| Ingest {
        registry: Arc::new(registry()),
        producer: Arc::new(HangsAfter(confirmed)),
        gate: Arc::new(AdmitAll),
        tokens: settings.clone().verifier(&registry(), Arc::new(ManualClock::default())).unwrap(),
        options: IngestOptions { answer_within: Duration::from_secs(20), ..IngestOptions::default() },
    };
    let door = |confirmed| Door { router: router(Arc::new(hung(confirmed))), queues: Arc::default() };
    let alone = [Event::new(1, "other", "1")];
    let ask = async |confirmed, events: &[Event], host: Option<Duration>| {
        let mut request = request(batch(events));
        let begun = tokio::time::Instant::now();
        if let Some(left) = host {
            let answer_by = Some(begun + left);
            request.extensions_mut().insert(crate::RequestContext { request_id: "r".into(), answer_by });
        }
        (door(confirmed).ask(request).await, begun.elapsed())
    };
    let (answered, took) = ask(0, &alone, None).await;
    assert_eq!((answered.status, answered.headers["retry-after"].as_bytes()), (503, &b"5"[..]));
    assert_eq!(took, Duration::from_secs(20));
    let (answered, took) = ask(0, &alone, Some(Duration::from_secs(7))).await;
    assert_eq!((answered.status, took), (503, Duration::from_secs(7)), "the host's deadline is nearer");
    let (answered, took) = ask(0, &alone, Some(Duration::from_secs(90))).await;
    assert_eq!((answered.status, took), (503, Duration::from_secs(20)), "a gateway's limit is nearer");
    let (answered, took) = ask(0, &alone, Some(Duration::ZERO)).await;
    assert_eq!((answered.status, took), (503, Duration::ZERO), "no time, nothing begun");
    let (answered, _) = ask(0, &mixed(), None).await;
    let late = "deferred: the queue service is unavailable (deadline)";
    assert_eq!(answered.verdicts(), [late, "acked", late], "what was confirmed is told");
    let large = |n: u64| Event::new(n, "other", format!("\"{}\"", "x".repeat(60_000)));
    let events: Vec<Event> = (0..30).map(large).collect();
    let verdicts = ask(1, &events, None).await.0.verdicts();
    assert_eq!(
        (verdicts[0].as_str(), verdicts[29].as_str()),
        ("acked", late),
        "its first message was confirmed"
    );
}

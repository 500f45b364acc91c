//! The suite that every backend passes. A backend brings a [`Harness`]; [`run`] asks everything.
//!
//! Each promise works on a stream of its own, so a failure names itself and leaves the rest alone.
#![expect(clippy::expect_used, reason = "a suite that is broken has to fail its test")]

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use eventlane_contracts::StreamName;
use eventlane_contracts::limits::MESSAGE_BYTES;

use crate::{Attributes, Consumer, Delivery, EnqueueError, Message, Producer, QueueError, Redrive};

/// What a backend brings to be asked.
#[async_trait]
pub trait Harness: Send + Sync {
    /// The backend as a producer.
    fn producer(&self) -> Arc<dyn Producer>;

    /// The backend as a consumer.
    fn consumer(&self) -> Arc<dyn Consumer>;

    /// A stream with an empty queue and no dead letters.
    async fn fresh_stream(&self) -> StreamName;

    /// A stream without a queue.
    fn missing_stream(&self) -> StreamName;

    /// Lets this much time pass for the queue, where the test holds the clock.
    async fn pass(&self, time: Duration);

    /// How long a receive should wait for a message that is due.
    fn patience(&self) -> Duration;
}

const LEASE: Duration = Duration::from_secs(30);
const SHORT: Duration = Duration::from_secs(1);

/// Asks every promise of the seam.
///
/// # Panics
/// When the backend breaks one.
pub async fn run(harness: &dyn Harness) {
    bodies_and_attributes_arrive_byte_for_byte(harness).await;
    many_and_large_messages_pass_one_call(harness).await;
    a_lease_hides_and_its_lapse_shows_again(harness).await;
    acked_is_gone_and_the_rest_stays(harness).await;
    released_comes_back_after_its_delay(harness).await;
    enqueued_after_a_delay_is_hidden_until_then(harness).await;
    extended_stays_hidden(harness).await;
    a_dead_letter_keeps_body_and_story_until_requeued(harness).await;
    refused_contents_leave_the_neighbours_alone(harness).await;
    the_size_limit_counts_attributes(harness).await;
    a_missing_queue_is_that_queues_fault(harness).await;
    an_empty_queue_answers_empty(harness).await;
    counts_tell_what_is_where(harness).await;
    chosen_dead_letters_are_discarded(harness).await;
    a_part_is_put_beside_the_dead_letters_with_its_story(harness).await;
    a_redrive_moves_every_dead_letter_where_the_service_has_one(harness).await;
}

async fn put(harness: &dyn Harness, stream: &StreamName, bodies: &[&str]) {
    let messages: Vec<Message> = bodies.iter().map(|body| Message::new((*body).to_owned())).collect();
    let outcomes = harness.producer().enqueue(stream, &messages).await;
    assert_eq!(outcomes, vec![Ok(()); bodies.len()]);
}

/// Receives until `count` messages are there or a receive finds nothing.
async fn take(
    harness: &dyn Harness,
    stream: &StreamName,
    count: usize,
    visibility: Duration,
) -> Vec<Delivery> {
    let consumer = harness.consumer();
    let mut all = Vec::new();
    while all.len() < count {
        let got = consumer.receive(stream, (count - all.len()).min(10), visibility, harness.patience()).await;
        let got = got.expect("receive");
        if got.is_empty() {
            break;
        }
        all.extend(got);
    }
    all
}

async fn nothing_visible(harness: &dyn Harness, stream: &StreamName) {
    let got = harness.consumer().receive(stream, 10, LEASE, Duration::ZERO).await.expect("receive");
    assert!(got.is_empty(), "{} messages are visible", got.len());
}

async fn ack_all(harness: &dyn Harness, stream: &StreamName, deliveries: Vec<Delivery>) {
    let receipts: Vec<_> = deliveries.into_iter().map(|delivery| delivery.receipt).collect();
    for outcome in harness.consumer().ack(stream, receipts).await {
        outcome.expect("ack");
    }
}

async fn bodies_and_attributes_arrive_byte_for_byte(harness: &dyn Harness) {
    let stream = harness.fresh_stream().await;
    let body = "{\"n\": 1.10,\t\"s\":\"é \u{1F600} \\uffff <&> \u{7f}\"}\r\n";
    let attributes = Attributes {
        traceparent: Some("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".into()),
        attempts: Some(2),
        first_received_us: Some(1_764_518_400_000_000),
        parent: Some("parent-id".into()),
        ..Attributes::default()
    };
    let message = Message { body: body.to_owned(), attributes: attributes.clone() };
    assert_eq!(harness.producer().enqueue(&stream, &[message]).await, [Ok(())]);
    let got = take(harness, &stream, 1, LEASE).await;
    assert_eq!(got.len(), 1);
    assert_eq!(got[0].body, body);
    assert_eq!(got[0].attributes, attributes);
    assert_eq!((got[0].stream.as_str(), got[0].receive_count), (stream.as_str(), 1));
    assert!(got[0].first_received_us > 0);
    ack_all(harness, &stream, got).await;
}

async fn many_and_large_messages_pass_one_call(harness: &dyn Harness) {
    let stream = harness.fresh_stream().await;
    // 23 messages of 200,000 bytes: more than ten entries, and more than a call may weigh.
    let bodies: Vec<String> = (0..23).map(|n| format!("{n:02}{}", "x".repeat(200_000))).collect();
    let messages: Vec<Message> = bodies.iter().cloned().map(Message::new).collect();
    assert_eq!(harness.producer().enqueue(&stream, &messages).await, vec![Ok(()); 23]);
    let got = take(harness, &stream, 23, LEASE).await;
    let mut received: Vec<String> = got.iter().map(|delivery| delivery.body.clone()).collect();
    received.sort();
    assert_eq!(received, bodies);
    ack_all(harness, &stream, got).await;
}

async fn a_lease_hides_and_its_lapse_shows_again(harness: &dyn Harness) {
    let stream = harness.fresh_stream().await;
    put(harness, &stream, &["one"]).await;
    let first = take(harness, &stream, 1, SHORT).await;
    nothing_visible(harness, &stream).await;
    harness.pass(SHORT).await;
    let second = take(harness, &stream, 1, LEASE).await;
    assert_eq!(second.len(), 1, "the lapsed message is due");
    assert_eq!((second[0].receive_count, &second[0].id), (2, &first[0].id));
    assert_eq!(second[0].first_received_us, first[0].first_received_us);
    assert_ne!(second[0].receipt, first[0].receipt);
    ack_all(harness, &stream, second).await;
}

async fn acked_is_gone_and_the_rest_stays(harness: &dyn Harness) {
    let stream = harness.fresh_stream().await;
    put(harness, &stream, &["a", "b", "c"]).await;
    let (done, kept): (Vec<_>, Vec<_>) =
        take(harness, &stream, 3, LEASE).await.into_iter().partition(|delivery| delivery.body != "b");
    ack_all(harness, &stream, done).await;
    let receipts = kept.into_iter().map(|delivery| delivery.receipt).collect();
    for outcome in harness.consumer().release(&stream, receipts, Duration::ZERO).await {
        outcome.expect("release");
    }
    let left = take(harness, &stream, 3, LEASE).await;
    assert_eq!(left.iter().map(|delivery| delivery.body.as_str()).collect::<Vec<_>>(), ["b"]);
    ack_all(harness, &stream, left).await;
}

async fn released_comes_back_after_its_delay(harness: &dyn Harness) {
    let stream = harness.fresh_stream().await;
    put(harness, &stream, &["one"]).await;
    let delivery = take(harness, &stream, 1, LEASE).await.remove(0);
    harness.consumer().release(&stream, vec![delivery.receipt], SHORT).await.remove(0).expect("release");
    nothing_visible(harness, &stream).await;
    harness.pass(SHORT).await;
    let again = take(harness, &stream, 1, LEASE).await;
    assert_eq!(again[0].receive_count, 2);
    ack_all(harness, &stream, again).await;
}

async fn enqueued_after_a_delay_is_hidden_until_then(harness: &dyn Harness) {
    let stream = harness.fresh_stream().await;
    let attributes = Attributes { attempts: Some(1), parent: Some("whole".into()), ..Attributes::default() };
    let part = Message { body: "part".to_owned(), attributes };
    harness.producer().enqueue_after(&stream, &part, SHORT).await.expect("enqueue");
    nothing_visible(harness, &stream).await;
    harness.pass(SHORT).await;
    let got = take(harness, &stream, 1, LEASE).await;
    assert_eq!((got[0].body.as_str(), &got[0].attributes), ("part", &part.attributes));
    assert_eq!(got[0].receive_count, 1, "waiting costs no receive");
    ack_all(harness, &stream, got).await;
    // Longer than a queue can hold a message back: as long as it can.
    harness.producer().enqueue_after(&stream, &part, Duration::MAX).await.expect("enqueue");
    nothing_visible(harness, &stream).await;
    let bad = Message::new("bad \u{FFFF}".to_owned());
    assert_eq!(harness.producer().enqueue_after(&stream, &bad, SHORT).await, Err(EnqueueError::Contents));
    let missing = harness.producer().enqueue_after(&harness.missing_stream(), &part, SHORT).await;
    assert!(matches!(missing, Err(EnqueueError::Queue(_))), "{missing:?}");
}

async fn extended_stays_hidden(harness: &dyn Harness) {
    let stream = harness.fresh_stream().await;
    put(harness, &stream, &["one"]).await;
    let delivery = take(harness, &stream, 1, SHORT).await.remove(0);
    harness.consumer().extend(&stream, &[delivery.receipt.lease()], LEASE).await.remove(0).expect("extend");
    harness.pass(SHORT + SHORT).await;
    nothing_visible(harness, &stream).await;
    ack_all(harness, &stream, vec![delivery]).await;
}

async fn a_dead_letter_keeps_body_and_story_until_requeued(harness: &dyn Harness) {
    let stream = harness.fresh_stream().await;
    // As large as an enqueued body may be: the reason must still fit.
    let body = format!("\"{}\"", "x".repeat(eventlane_contracts::limits::MESSAGE_BODY_BYTES - 2));
    put(harness, &stream, &[&body, "fine"]).await;
    let mut deliveries = take(harness, &stream, 2, LEASE).await;
    deliveries.sort_by_key(|delivery| delivery.body.len());
    let (dead, fine) = (deliveries.remove(1), deliveries.remove(0));
    let first_received = dead.first_received_us;
    ack_all(harness, &stream, vec![fine]).await;
    let reason = "handler said \u{FFFF}\u{1} no ".repeat(10_000);
    harness.consumer().dead_letter(dead, &reason, 5).await.expect("dead-letter");
    nothing_visible(harness, &stream).await;

    for _ in 0..2 {
        let page = harness.consumer().dead_letters(&stream, 10).await.expect("list");
        assert_eq!(page.letters.len(), 1, "a listing takes nothing away");
        let letter = &page.letters[0];
        assert_eq!((&letter.body, letter.attempts), (&body, Some(5)));
        assert_eq!(letter.first_received_us, Some(first_received));
        assert!(letter.dead_lettered_us.is_some());
        assert_eq!(
            letter.reason.as_deref(),
            Some(eventlane_contracts::text::dead_letter_reason(&reason).as_str())
        );
    }
    let none =
        harness.consumer().requeue(&stream, &|letter| letter.body == "fine", 10).await.expect("requeue");
    assert_eq!(none.count, 0);
    let one = harness.consumer().requeue(&stream, &|letter| letter.attempts == Some(5), 10).await;
    assert_eq!(one.expect("requeue").count, 1);
    assert_eq!(harness.consumer().dead_letters(&stream, 10).await.expect("list").letters, []);
    let again = take(harness, &stream, 1, LEASE).await;
    assert_eq!((again[0].body == body, again[0].receive_count), (true, 1));
    assert_eq!(again[0].attributes, Attributes::default(), "a requeue starts afresh");
    ack_all(harness, &stream, again).await;
}

async fn refused_contents_leave_the_neighbours_alone(harness: &dyn Harness) {
    let stream = harness.fresh_stream().await;
    let messages = ["a", "bad \u{FFFF}", "c"].map(|body| Message::new(body.to_owned()));
    let outcomes = harness.producer().enqueue(&stream, &messages).await;
    assert_eq!(outcomes, [Ok(()), Err(EnqueueError::Contents), Ok(())]);
    let got = take(harness, &stream, 3, LEASE).await;
    let mut bodies: Vec<_> = got.iter().map(|delivery| delivery.body.clone()).collect();
    bodies.sort();
    assert_eq!(bodies, ["a", "c"]);
    ack_all(harness, &stream, got).await;
}

async fn the_size_limit_counts_attributes(harness: &dyn Harness) {
    let stream = harness.fresh_stream().await;
    let room = MESSAGE_BYTES - Attributes::default().bytes();
    let messages = [room, room + 1].map(|bytes| Message::new("x".repeat(bytes)));
    let outcomes = harness.producer().enqueue(&stream, &messages).await;
    assert_eq!(outcomes, [Ok(()), Err(EnqueueError::Contents)]);
    let got = take(harness, &stream, 1, LEASE).await;
    assert_eq!(got[0].body.len(), room);
    ack_all(harness, &stream, got).await;
}

async fn a_missing_queue_is_that_queues_fault(harness: &dyn Harness) {
    let stream = harness.missing_stream();
    let outcomes = harness.producer().enqueue(&stream, &[Message::new("a".into())]).await;
    assert!(matches!(outcomes[..], [Err(EnqueueError::Queue(_))]), "{outcomes:?}");
    let received = harness.consumer().receive(&stream, 1, LEASE, Duration::ZERO).await;
    assert!(matches!(received, Err(QueueError::Queue(_))), "{received:?}");
}

async fn an_empty_queue_answers_empty(harness: &dyn Harness) {
    let stream = harness.fresh_stream().await;
    let got = harness.consumer().receive(&stream, 10, LEASE, SHORT).await.expect("receive");
    assert!(got.is_empty());
    assert_eq!(harness.producer().enqueue(&stream, &[]).await, []);
    assert!(harness.consumer().ack(&stream, Vec::new()).await.is_empty());
    assert!(harness.consumer().extend(&stream, &[], LEASE).await.is_empty());
}

async fn counts_tell_what_is_where(harness: &dyn Harness) {
    let stream = harness.fresh_stream().await;
    let consumer = harness.consumer();
    let counts = consumer.counts(&stream).await.expect("counts");
    assert_eq!((counts.waiting, counts.in_flight, counts.dead_letters), (0, 0, 0));
    assert_eq!(counts.oldest_age, None);
    put(harness, &stream, &["a", "b", "c"]).await;
    let mut got = take(harness, &stream, 2, LEASE).await;
    consumer.dead_letter(got.remove(0), "why", 1).await.expect("dead-letter");
    let counts = consumer.counts(&stream).await.expect("counts");
    assert_eq!((counts.waiting, counts.in_flight, counts.dead_letters), (1, 1, 1));
    ack_all(harness, &stream, got).await;
    let missing = consumer.counts(&harness.missing_stream()).await;
    assert!(matches!(missing, Err(QueueError::Queue(_))), "{missing:?}");
}

async fn chosen_dead_letters_are_discarded(harness: &dyn Harness) {
    let stream = harness.fresh_stream().await;
    put(harness, &stream, &["a", "b", "c"]).await;
    for delivery in take(harness, &stream, 3, LEASE).await {
        harness.consumer().dead_letter(delivery, "why", 1).await.expect("dead-letter");
    }
    let not_b = |letter: &crate::DeadLetter| letter.body != "b";
    let first = harness.consumer().discard(&stream, &not_b, 1).await.expect("discard");
    assert_eq!(first.count, 1);
    let second = harness.consumer().discard(&stream, &not_b, 10).await.expect("discard");
    assert_eq!(second.count, 1);
    let left = harness.consumer().dead_letters(&stream, 10).await.expect("list").letters;
    assert_eq!(left.iter().map(|letter| letter.body.as_str()).collect::<Vec<_>>(), ["b"]);
    nothing_visible(harness, &stream).await;
}

async fn a_part_is_put_beside_the_dead_letters_with_its_story(harness: &dyn Harness) {
    let stream = harness.fresh_stream().await;
    let attributes = Attributes {
        attempts: Some(3),
        first_received_us: Some(7),
        parent: Some("whole".into()),
        reason: Some("because \u{FFFF}".into()),
        dead_lettered_us: Some(9),
        ..Attributes::default()
    };
    let message = Message { body: "part".into(), attributes };
    harness.consumer().put_dead_letter(&stream, &message).await.expect("put");
    let letter = harness.consumer().dead_letters(&stream, 10).await.expect("list").letters.remove(0);
    assert_eq!((letter.body.as_str(), letter.reason.as_deref()), ("part", Some("because \u{FFFD}")));
    assert_eq!(
        (letter.attempts, letter.first_received_us, letter.dead_lettered_us),
        (Some(3), Some(7), Some(9))
    );
}

async fn a_redrive_moves_every_dead_letter_where_the_service_has_one(harness: &dyn Harness) {
    let stream = harness.fresh_stream().await;
    put(harness, &stream, &["a"]).await;
    let delivery = take(harness, &stream, 1, LEASE).await.remove(0);
    harness.consumer().dead_letter(delivery, "why", 4).await.expect("dead-letter");
    match harness.consumer().redrive(&stream).await.expect("redrive") {
        Redrive::Unsupported => assert_eq!(
            harness.consumer().dead_letters(&stream, 10).await.expect("list").letters.len(),
            1,
            "what isn't supported changes nothing"
        ),
        Redrive::Started => {
            let mut again = Vec::new();
            // The service moves in its own time.
            for _ in 0..10 {
                again = take(harness, &stream, 1, LEASE).await;
                if !again.is_empty() {
                    break;
                }
            }
            assert_eq!(again[0].body, "a");
            // The story travels along, so that a consumer knows to start afresh.
            assert!(again[0].attributes.dead_lettered_us.is_some());
            ack_all(harness, &stream, again).await;
        }
    }
}

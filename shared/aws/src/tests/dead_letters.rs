//! Dead letters: copied first, deleted second, looked at and left where they are.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use eventlane_contracts::limits::MESSAGE_BYTES;
use eventlane_contracts::text::dead_letter_reason;
use eventlane_queue::{Consumer, DeadLetter, Delivery, QueueError};
use eventlane_testkit::scripted_sqs::{Action, Attribute, Fault, Which};

use super::{Bench, LEASE, bench};

const DEAD: &str = "lane-a-dlq";

async fn put_and_receive(bench: &Bench, body: &str) -> Delivery {
    bench.sqs.put("lane-a", body, &[]);
    bench.queue.receive(&bench.a, 1, LEASE, Duration::ZERO).await.unwrap().remove(0)
}

#[tokio::test]
async fn a_copy_that_fails_leaves_the_original() {
    let bench = bench();
    let delivery = put_and_receive(&bench, "x").await;
    bench.sqs.fault(DEAD, Action::SendMessage, 1, Fault::throttled());
    let unsettled = bench.queue.dead_letter(delivery, "why", 1).await.unwrap_err();
    assert_eq!(unsettled.error, QueueError::Unavailable("RequestThrottled".into()));
    assert!(bench.sqs.calls_of(Action::DeleteMessageBatch, "lane-a").is_empty());
    assert!(bench.queue.ack(&bench.a, vec![unsettled.receipt]).await.remove(0).is_ok());
}

#[tokio::test]
async fn a_delete_that_fails_leaves_both() {
    let bench = bench();
    let delivery = put_and_receive(&bench, "x").await;
    bench.sqs.fault("lane-a", Action::DeleteMessageBatch, 1, Fault::fail(Which::All));
    let unsettled = bench.queue.dead_letter(delivery, "why", 1).await.unwrap_err();
    assert_eq!(unsettled.error, QueueError::Unavailable("InternalError".into()));
    assert_eq!((bench.sqs.messages("lane-a").len(), bench.sqs.messages(DEAD).len()), (1, 1));
}

// D18
#[tokio::test]
async fn a_full_message_with_a_long_error_text_is_dead_lettered() {
    let reason = "\u{FFFF}é".repeat(100_000);
    for free in [0, 7, 8, 60, 200, 1_000, 2_000] {
        let bench = bench();
        let body = "x".repeat(MESSAGE_BYTES - free);
        let delivery = put_and_receive(&bench, &body).await;
        bench.queue.dead_letter(delivery, &reason, 5).await.unwrap();
        assert!(bench.sqs.messages("lane-a").is_empty());
        let copy = bench.sqs.messages(DEAD).remove(0);
        assert_eq!(copy.body.len(), body.len(), "{free}");
        let kept = copy.attributes.get("reason").and_then(|one| one.string_value.clone());
        match free {
            2_000 => assert_eq!(kept, Some(dead_letter_reason(&reason))),
            1_000 => assert!(dead_letter_reason(&reason).starts_with(&kept.unwrap())),
            0 | 7 => assert!(copy.attributes.is_empty()),
            _ => assert!(copy.attributes.contains_key("v")),
        }
        assert_eq!(bench.queue.requeue(&bench.a, &|_| true, 1).await.unwrap().count, 1, "{free}");
        assert_eq!(bench.sqs.messages("lane-a").remove(0).body.len(), body.len());
    }
}

#[tokio::test]
async fn a_listing_goes_on_past_ten_and_gives_everything_back() {
    let bench = bench();
    for n in 0..25 {
        let reason = ("reason", Attribute::string("why"));
        bench.sqs.put(DEAD, &n.to_string(), if n % 2 == 0 { std::slice::from_ref(&reason) } else { &[] });
    }
    for (limit, found) in [(100, 25), (12, 12), (0, 0)] {
        let page = bench.queue.dead_letters(&bench.a, limit).await.unwrap();
        assert_eq!((page.letters.len(), page.complete), (found, false));
        assert!(bench.sqs.messages(DEAD).iter().all(|message| !message.in_flight));
    }
    let page = bench.queue.dead_letters(&bench.a, 100).await.unwrap();
    let moved = page.letters.iter().filter(|letter| letter.reason.is_none()).count();
    assert_eq!(moved, 12, "moved by the queue");
}

#[tokio::test]
async fn a_listing_that_breaks_off_gives_back_what_it_took() {
    let bench = bench();
    bench.sqs.put(DEAD, "x", &[]);
    for n in 0..10 {
        bench.sqs.put(DEAD, &n.to_string(), &[]);
    }
    // The first round passes (a receive has no entries to omit), the second doesn't.
    bench.sqs.fault(DEAD, Action::ReceiveMessage, 1, Fault::OmitEntries(Which::All));
    bench.sqs.fault(DEAD, Action::ReceiveMessage, 1, Fault::throttled());
    let error = bench.queue.dead_letters(&bench.a, 100).await.unwrap_err();
    assert_eq!(error, QueueError::Unavailable("RequestThrottled".into()));
    assert!(bench.sqs.messages(DEAD).iter().all(|message| !message.in_flight));
}

#[tokio::test]
async fn a_requeue_takes_the_chosen_and_leaves_the_rest() {
    let bench = bench();
    for n in 0..25 {
        bench.sqs.put(DEAD, &n.to_string(), &[("v", Attribute::number(2))]);
    }
    let odd = |letter: &eventlane_queue::DeadLetter| letter.body.parse::<u32>().unwrap() % 2 == 1;
    let requeued = bench.queue.requeue(&bench.a, &odd, 5).await.unwrap();
    assert_eq!((requeued.count, requeued.complete), (5, false));
    assert_eq!(bench.queue.requeue(&bench.a, &odd, 100).await.unwrap().count, 7);
    let left = bench.sqs.messages(DEAD);
    assert!(left.len() == 13 && left.iter().all(|message| !message.in_flight));
    let back = bench.queue.receive(&bench.a, 10, LEASE, Duration::ZERO).await.unwrap();
    assert_eq!(back[0].attributes.version, 2, "the body's format is not ours to rename");
    assert_eq!((back[0].receive_count, back[0].attributes.attempts), (1, None));
}

#[tokio::test]
async fn a_requeue_whose_copy_fails_keeps_the_letter_and_what_was_done() {
    let bench = bench();
    for body in ["x", "y", "z"] {
        bench.sqs.put(DEAD, body, &[]);
    }
    bench.sqs.fault("lane-a", Action::SendMessage, 1, Fault::access_denied());
    let error = bench.queue.requeue(&bench.a, &|_| true, 10).await.unwrap_err();
    assert_eq!(error, QueueError::Queue("AccessDenied".into()));
    assert!(bench.sqs.messages(DEAD).iter().all(|message| !message.in_flight));
    // A letter whose delete fails is back on its queue all the same, once a requeue.
    bench.sqs.fault(DEAD, Action::DeleteMessageBatch, 1, Fault::fail(Which::All));
    assert_eq!(bench.queue.requeue(&bench.a, &|_| true, 10).await.unwrap().count, 3);
    assert_eq!((bench.sqs.messages("lane-a").len(), bench.sqs.messages(DEAD).len()), (3, 1));
}

#[tokio::test]
async fn a_letter_that_is_given_up_again_at_once_is_put_back_once() {
    let bench = bench();
    bench.sqs.put(DEAD, "poison", &[]);
    let looked_at = AtomicUsize::new(0);
    // Stands for a drain that is at work: the letter is back before the call has ended.
    let drained = |_: &DeadLetter| {
        if looked_at.fetch_add(1, Ordering::SeqCst) < 50 {
            bench.sqs.put(DEAD, "poison", &[]);
        }
        true
    };
    let requeued = bench.queue.requeue(&bench.a, &drained, 1000).await.unwrap();
    assert!(looked_at.into_inner() > 1, "it did come back");
    assert_eq!(requeued.count, 1);
    assert_eq!(bench.sqs.messages("lane-a").len(), 1);
}

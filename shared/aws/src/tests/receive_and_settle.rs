//! Receive, extend, ack and release under faults.

use std::sync::Arc;
use std::time::Duration;

use aws_sdk_sqs::config::StalledStreamProtectionConfig;
use eventlane_queue::{Consumer, Delivery, EnqueueError, Lease, Message, Producer, QueueError, Receipt};
use eventlane_testkit::scripted_sqs::{Action, Attribute, Fault, LongPolls, Which};

use super::{Bench, LEASE, bench, config, messages, stream};
use crate::{SqsQueue, Timeouts};

const RECEIVE: Action = Action::ReceiveMessage;
const DELETE: Action = Action::DeleteMessageBatch;
const CHANGE: Action = Action::ChangeMessageVisibilityBatch;

async fn received(bench: &Bench, count: usize) -> Vec<Delivery> {
    let many: Vec<Message> = (0..count).map(|n| Message::new(n.to_string())).collect();
    assert_eq!(bench.queue.enqueue(&bench.a, &many).await, vec![Ok(()); count]);
    let mut got = Vec::new();
    while got.len() < count {
        got.extend(bench.queue.receive(&bench.a, 10, LEASE, Duration::ZERO).await.unwrap());
    }
    got
}

fn receipts(deliveries: Vec<Delivery>) -> Vec<Receipt> {
    deliveries.into_iter().map(|delivery| delivery.receipt).collect()
}

fn unavailable(word: &str) -> QueueError {
    QueueError::Unavailable(word.to_owned())
}

#[tokio::test]
async fn a_receive_asks_within_what_sqs_takes() {
    let bench = bench();
    let (visibility, wait) = (Duration::from_millis(59_001), Duration::from_millis(25_001));
    bench.queue.receive(&bench.a, 100, visibility, wait).await.unwrap();
    bench.queue.receive(&bench.a, 1, Duration::MAX, Duration::from_millis(1)).await.unwrap();
    assert!(bench.queue.receive(&bench.a, 0, LEASE, Duration::ZERO).await.unwrap().is_empty());
    let asked: Vec<_> = bench
        .sqs
        .calls()
        .iter()
        .map(|call| {
            ["MaxNumberOfMessages", "VisibilityTimeout", "WaitTimeSeconds"]
                .map(|name| call.number(name).unwrap())
        })
        .collect();
    assert_eq!(asked, [[10, 60, 20], [1, 43_200, 1]]);
}

#[tokio::test]
async fn a_message_put_by_hand_is_delivered_as_it_is() {
    let bench = bench();
    let odd = [("attempts", Attribute::string("many")), ("other", Attribute::string("x"))];
    bench.sqs.put("lane-a", "hello", &odd);
    let got = bench.queue.receive(&bench.a, 10, LEASE, Duration::ZERO).await.unwrap().remove(0);
    assert_eq!((got.body.as_str(), got.attributes.version, got.attributes.attempts), ("hello", 1, None));
    assert_eq!((got.receive_count, got.first_received_us), (1, 1_760_000_000_000_000));
}

#[tokio::test]
async fn a_receives_fault_says_whose_it_is() {
    let bench = bench();
    for (fault, expected) in [
        (Fault::throttled(), unavailable("RequestThrottled")),
        (Fault::Status(500), unavailable("no code")),
        (Fault::Reset, unavailable("connection")),
        (Fault::access_denied(), QueueError::Queue("AccessDenied".into())),
        (Fault::no_queue(), QueueError::Queue("AWS.SimpleQueueService.NonExistentQueue".into())),
    ] {
        bench.sqs.fault("lane-a", RECEIVE, 1, fault.clone());
        let error = bench.queue.receive(&bench.a, 10, LEASE, Duration::ZERO).await.unwrap_err();
        assert_eq!(error, expected, "{fault:?}");
    }
}

// D01
#[tokio::test]
async fn a_long_poll_outlasts_other_calls_deadlines_and_is_just_empty() {
    let short = Duration::from_millis(100);
    let timeouts = crate::Timeouts { connect: LEASE, attempt: short, operation: short };
    let bench = super::bench_with(timeouts, 1);
    bench.sqs.set_long_polls(LongPolls::Held);
    assert!(bench.queue.receive(&bench.a, 10, LEASE, Duration::from_secs(1)).await.unwrap().is_empty());
}

// D01
#[tokio::test]
async fn a_receive_outlasts_a_pause_in_its_answer_that_the_sdk_takes_for_a_stall() {
    let bench = bench();
    let guard = StalledStreamProtectionConfig::enabled().grace_period(Duration::from_millis(100)).build();
    let patient = Timeouts { connect: LEASE, attempt: LEASE, operation: LEASE };
    let config = config(&bench.sqs.url(), patient, 1).into_builder().stalled_stream_protection(guard).build();
    let queue = SqsQueue::new(&config, &bench.sqs.queue_url("lane"), Arc::new(bench.clock.clone())).unwrap();
    assert_eq!(queue.enqueue(&bench.a, &messages(["1", "2"])).await, [Ok(()), Ok(())]);
    let receives = bench.sqs.fault("lane-a", RECEIVE, 1, Fault::Pause);
    let sends = bench.sqs.fault("lane-b", Action::SendMessageBatch, 1, Fault::Pause);
    let (got, ()) = tokio::join!(queue.receive(&bench.a, 10, LEASE, Duration::ZERO), async {
        // The guard takes this call for stalled; by then it has had its time with the receive as well.
        let sent = queue.enqueue(&bench.b, &messages(["3"])).await;
        assert_eq!(sent, [Err(EnqueueError::Unconfirmed("unreadable answer".to_owned()))]);
        assert_eq!(receives.fired(), 1, "the receive's answer has been on its way");
        bench.sqs.heal();
    });
    let bodies: Vec<String> = got.unwrap().into_iter().map(|delivery| delivery.body).collect();
    assert_eq!((bodies, sends.fired()), (vec!["1".to_owned(), "2".to_owned()], 1));
}

#[tokio::test]
async fn a_receive_that_is_never_answered_ends() {
    let bench = bench();
    bench.sqs.fault("lane-a", RECEIVE, 1, Fault::Hang);
    let queue = bench.queue.clone().with_receive_margin(Duration::from_millis(100));
    let error = queue.receive(&bench.a, 10, LEASE, Duration::ZERO).await.unwrap_err();
    assert_eq!(error, unavailable("timeout"));
}

#[tokio::test]
async fn settles_go_in_tens_and_none_without_receipts() {
    let bench = bench();
    let got = received(&bench, 23).await;
    let leases: Vec<Lease> = got.iter().map(|delivery| delivery.receipt.lease()).collect();
    assert_eq!(bench.queue.extend(&bench.a, &leases, LEASE).await, vec![Ok(()); 23]);
    assert!(bench.queue.ack(&bench.a, receipts(got)).await.iter().all(Result::is_ok));
    assert!(bench.sqs.messages("lane-a").is_empty());
    for action in [CHANGE, DELETE] {
        let calls = bench.sqs.calls_of(action, "lane-a");
        let mut sizes: Vec<usize> = calls.iter().map(|call| call.entries.len()).collect();
        sizes.sort_unstable();
        assert_eq!(sizes, [3, 10, 10]);
    }
    let before = bench.sqs.calls().len();
    assert!(bench.queue.extend(&bench.a, &[], LEASE).await.is_empty());
    assert!(bench.queue.ack(&bench.a, Vec::new()).await.is_empty());
    assert!(bench.queue.release(&bench.a, Vec::new(), LEASE).await.is_empty());
    assert_eq!(bench.sqs.calls().len(), before);
}

// D12
#[tokio::test]
async fn each_receipt_has_its_own_outcome_and_comes_back_when_unsettled() {
    let bench = bench();
    let got = received(&bench, 3).await;
    let handles: Vec<String> = got.iter().map(|one| one.receipt.handle().to_owned()).collect();
    bench.sqs.fault("lane-a", DELETE, 1, Fault::fail(Which::At(1)));
    let mut outcomes = bench.queue.ack(&bench.a, receipts(got)).await;
    assert!(outcomes[0].is_ok() && outcomes[2].is_ok());
    let unsettled = outcomes.remove(1).unwrap_err();
    assert_eq!((unsettled.receipt.handle(), unsettled.error), (&*handles[1], unavailable("InternalError")));

    bench.sqs.fault("lane-a", DELETE, 1, Fault::OmitEntries(Which::All));
    let unsettled = bench.queue.ack(&bench.a, vec![unsettled.receipt]).await.remove(0).unwrap_err();
    assert_eq!(unsettled.error, unavailable("not listed"));
    assert!(bench.queue.ack(&bench.a, vec![unsettled.receipt]).await.remove(0).is_ok());
}

// D10
#[tokio::test]
async fn a_lease_that_is_over_has_lapsed() {
    let bench = bench();
    let first = received(&bench, 1).await;
    bench.clock.advance(LEASE);
    let second = bench.queue.receive(&bench.a, 1, LEASE, Duration::ZERO).await.unwrap();
    let lapsed = |outcome: Result<(), QueueError>| assert_eq!(outcome, Err(QueueError::Lapsed));
    lapsed(bench.queue.extend(&bench.a, &[first[0].receipt.lease()], LEASE).await.remove(0));
    let receipt = receipts(first).remove(0);
    lapsed(bench.queue.ack(&bench.a, vec![receipt]).await.remove(0).map_err(|one| one.error));

    // Twelve hours after the receive, SQS extends no more.
    let held = [second[0].receipt.lease()];
    bench.queue.extend(&bench.a, &held, Duration::from_secs(43_000)).await.remove(0).unwrap();
    bench.clock.advance(Duration::from_secs(42_000));
    lapsed(bench.queue.extend(&bench.a, &held, Duration::from_secs(3_600)).await.remove(0));
    bench.clock.advance(Duration::from_secs(1_000));
    let receipt = receipts(second).remove(0);
    let released = bench.queue.release(&bench.a, vec![receipt], Duration::ZERO).await.remove(0);
    lapsed(released.map_err(|one| one.error));
}

#[tokio::test]
async fn a_whole_settles_fault_is_every_receipts() {
    let bench = bench();
    let got = received(&bench, 2).await;
    bench.sqs.fault("lane-a", CHANGE, 1, Fault::Status(503));
    let outcomes = bench.queue.release(&bench.a, receipts(got), Duration::from_millis(1500)).await;
    let errors: Vec<_> = outcomes.into_iter().map(|one| one.unwrap_err()).collect();
    assert!(errors.iter().all(|one| one.error == unavailable("no code")), "{errors:?}");
    let receipts = errors.into_iter().map(|one| one.receipt).collect();
    assert!(
        bench.queue.release(&bench.a, receipts, Duration::from_millis(1500)).await.iter().all(Result::is_ok)
    );
    let calls = bench.sqs.calls_of(CHANGE, "lane-a");
    assert_eq!(calls[1].entries[0].visibility_seconds, Some(2), "rounded up");
    let missing =
        bench.queue.extend(&stream("missing"), &[Receipt::from_handle("r".into()).lease()], LEASE).await;
    assert!(matches!(missing[..], [Err(QueueError::Queue(_))]), "{missing:?}");
    assert_eq!(bench.queue.enqueue(&bench.b, &messages(["x"])).await, [Ok(())]);
}

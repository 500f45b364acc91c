//! What an enqueue says when SQS fails: `Ok` for exactly what was confirmed.

use std::time::Duration;

use eventlane_queue::{EnqueueError, EventOutcome, Message, Producer, StreamEvents, enqueue_streams};
use eventlane_testkit::scripted_sqs::{Action, FOREVER, Fault, Which};

use super::{bench, bench_with, messages, stream};
use crate::Timeouts;

const SEND: Action = Action::SendMessageBatch;

fn unavailable(word: &str) -> Result<(), EnqueueError> {
    Err(EnqueueError::Unavailable(word.to_owned()))
}

fn error(status: u16, code: &str) -> Fault {
    Fault::Error { status, code: code.to_owned(), sender_fault: status < 500 }
}

/// I35
#[tokio::test]
async fn only_listed_as_successful_is_enqueued() {
    let bench = bench();
    // Entry 0 succeeds in the first two calls; 1 fails in the one and is left out of the other.
    bench.sqs.fault("lane-a", SEND, 1, Fault::fail(Which::At(1)));
    let outcomes = bench.queue.enqueue(&bench.a, &messages(["x", "y"])).await;
    assert_eq!(outcomes, [Ok(()), unavailable("InternalError")]);
    bench.sqs.fault("lane-a", SEND, 1, Fault::OmitEntries(Which::At(1)));
    let outcomes = bench.queue.enqueue(&bench.a, &messages(["x", "y"])).await;
    assert_eq!(outcomes, [Ok(()), Err(EnqueueError::Unconfirmed("not listed".into()))]);
    assert_eq!(bench.sqs.messages("lane-a").len(), 2);
}

#[tokio::test]
async fn an_entrys_code_says_whose_fault_it_is() {
    let refused = |code| (Fault::refuse(Which::At(0), code), code.to_owned());
    let contents = Err(EnqueueError::Contents);
    for ((fault, code), expected) in [
        (refused("InvalidMessageContents"), contents),
        (refused("RequestThrottled"), unavailable("RequestThrottled")),
        (refused("KmsThrottled"), unavailable("KmsThrottled")),
        (refused("AccessDenied"), Err(EnqueueError::Queue("AccessDenied".into()))),
        (refused("KMS.DisabledException"), Err(EnqueueError::Queue("KMS.DisabledException".into()))),
        (refused("Surprise"), Err(EnqueueError::Unconfirmed("Surprise".into()))),
        (refused("InvalidParameterValue"), Err(EnqueueError::Unconfirmed("InvalidParameterValue".into()))),
    ] {
        let bench = bench();
        bench.sqs.fault("lane-a", SEND, 1, fault);
        let outcomes = bench.queue.enqueue(&bench.a, &messages(["x", "y"])).await;
        assert_eq!(outcomes, [expected, Ok(())], "{code}");
    }
}

#[tokio::test]
async fn a_whole_calls_code_says_whose_fault_it_is() {
    let queue = |word: &str| Err(EnqueueError::Queue(word.to_owned()));
    let missing = "AWS.SimpleQueueService.NonExistentQueue";
    for (fault, expected) in [
        (Fault::throttled(), unavailable("RequestThrottled")),
        (error(400, "ThrottlingException"), unavailable("ThrottlingException")),
        (error(503, "ServiceUnavailable"), unavailable("ServiceUnavailable")),
        (error(500, "Surprise"), unavailable("Surprise")),
        (Fault::Status(500), unavailable("no code")),
        (Fault::Status(502), unavailable("no code")),
        (Fault::Reset, unavailable("connection")),
        (Fault::LoseAnswer, unavailable("connection")),
        (Fault::access_denied(), queue("AccessDenied")),
        (Fault::key_disabled(), queue("KMS.DisabledException")),
        (Fault::no_queue(), queue(missing)),
        (error(404, "InvalidAddress"), queue("InvalidAddress")),
        (error(400, "Surprise"), Err(EnqueueError::Unconfirmed("Surprise".into()))),
    ] {
        let bench = bench();
        let fired = bench.sqs.fault("lane-a", SEND, 1, fault.clone());
        let outcomes = bench.queue.enqueue(&bench.a, &messages(["x", "y"])).await;
        assert_eq!(outcomes, [expected.clone(), expected], "{fault:?}");
        assert_eq!(fired.fired(), 1);
    }
    let bench = bench();
    let outcomes = bench.queue.enqueue(&stream("nobody"), &messages(["x"])).await;
    assert_eq!(outcomes, [queue(missing)]);
}

#[tokio::test]
async fn a_call_refused_for_its_contents_or_size_is_sent_one_by_one() {
    for (code, alone) in
        [("InvalidMessageContents", EnqueueError::Contents), ("BatchRequestTooLong", EnqueueError::TooLarge)]
    {
        let bench = bench();
        // The whole call is refused, the first message alone passes (nothing in it is omitted), the
        // second alone is refused.
        bench.sqs.fault("lane-a", SEND, 1, error(400, code));
        bench.sqs.fault("lane-a", SEND, 1, Fault::OmitEntries(Which::BodyWith("nobody's".into())));
        bench.sqs.fault("lane-a", SEND, 1, error(400, code));
        let outcomes = bench.queue.enqueue(&bench.a, &messages(["x", "y", "z"])).await;
        assert_eq!(outcomes, [Ok(()), Err(alone), Ok(())], "{code}");
        let sizes: Vec<usize> = bench.sqs.calls().iter().map(|call| call.entries.len()).collect();
        assert_eq!(sizes, [3, 1, 1, 1]);
    }
}

/// I39
#[tokio::test]
async fn a_silent_service_is_unavailable_within_the_deadline() {
    let timeouts = Timeouts {
        connect: Duration::from_secs(1),
        attempt: Duration::from_millis(300),
        operation: Duration::from_secs(3),
    };
    let bench = bench_with(timeouts, 2);
    let fired = bench.sqs.fault("lane-a", SEND, FOREVER, Fault::Hang);
    let outcomes = bench.queue.enqueue(&bench.a, &messages(["x"])).await;
    assert_eq!(outcomes, [unavailable("timeout")]);
    assert_eq!(fired.fired(), 2, "an attempt that hangs is tried again");
}

#[tokio::test]
async fn nobody_listening_is_unavailable() {
    let bench = bench();
    drop(bench.sqs);
    let outcomes = bench.queue.enqueue(&bench.a, &messages(["x"])).await;
    assert_eq!(outcomes, [unavailable("connection")]);
}

#[tokio::test]
async fn a_moments_fault_is_passed_over_by_the_sdk() {
    for fault in [Fault::throttled(), Fault::Status(503), Fault::Reset] {
        let bench = bench_with(Timeouts::default(), 3);
        let fired = bench.sqs.fault("lane-a", SEND, 2, fault.clone());
        assert_eq!(bench.queue.enqueue(&bench.a, &messages(["x"])).await, [Ok(())], "{fault:?}");
        assert_eq!(fired.fired(), 2);
    }
}

/// I36
#[tokio::test]
async fn one_calls_fault_leaves_the_other_calls_results() {
    let bench = bench();
    bench.sqs.fault("lane-a", SEND, 1, Fault::Reset);
    let many: Vec<Message> = (0..25).map(|n| Message::new(n.to_string())).collect();
    let outcomes = bench.queue.enqueue(&bench.a, &many).await;
    let enqueued = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
    assert!(enqueued == 15 || enqueued == 20, "{enqueued} of 25 with one call of ten or five lost");
    assert_eq!(bench.sqs.messages("lane-a").len(), enqueued);
}

/// I37
#[tokio::test]
async fn one_streams_fault_leaves_the_other_streams_alone() {
    let bench = bench();
    bench.sqs.fault("lane-b", SEND, FOREVER, Fault::throttled());
    let batch = |stream| StreamEvents { stream, events: vec!["{}".to_owned()] };
    let batches = [batch(bench.b.clone()), batch(stream("missing")), batch(bench.a.clone())];
    let report = enqueue_streams(&bench.queue, &batches, None).await;
    assert!(matches!(report.streams[0][..], [EventOutcome::NotQueued(EnqueueError::Unavailable(_))]));
    assert!(matches!(report.streams[1][..], [EventOutcome::NotQueued(EnqueueError::Queue(_))]));
    assert_eq!(report.streams[2], [EventOutcome::Queued]);
    assert!(!report.is_unavailable());
    assert!(enqueue_streams(&bench.queue, &batches[..1], None).await.is_unavailable());
}

/// More connections than a call has attempts died while the function was frozen.
#[tokio::test]
async fn connections_that_died_in_a_freeze_cost_retries_and_no_outcome() {
    let bench = bench_with(Timeouts::default(), 3);
    let many: Vec<Message> = (0..40).map(|n| Message::new(n.to_string())).collect();
    let both =
        futures::future::join(bench.queue.enqueue(&bench.a, &many), bench.queue.enqueue(&bench.b, &many));
    both.await;
    for _ in 0..3 {
        let died = bench.sqs.kill_connections();
        assert_eq!(bench.queue.enqueue(&bench.a, &messages(["x"])).await, [Ok(())]);
        assert!((1..=2).contains(&died.fired()), "{} of them were kept", died.fired());
    }
}

/// I39, I36: what was confirmed by the deadline stays, what hangs or wasn't begun is unavailable.
#[tokio::test]
async fn past_the_deadline_calls_in_hand_keep_their_results() {
    let bench = bench();
    let fired = bench.sqs.fault("lane-a", SEND, 1, Fault::Hang);
    let many: Vec<Message> = (0..20).map(|n| Message::new(n.to_string())).collect();
    let deadline = tokio::time::Instant::now() + Duration::from_millis(500);
    let outcomes = bench.queue.enqueue_by(&bench.a, &many, deadline).await;
    let late = unavailable("deadline");
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 10);
    assert_eq!(outcomes.iter().filter(|outcome| **outcome == late).count(), 10);
    assert_eq!((fired.fired(), bench.sqs.messages("lane-a").len()), (1, 10));
    let calls = bench.sqs.calls().len();
    assert_eq!(bench.queue.enqueue_by(&bench.a, &many[..1], deadline).await, [late]);
    assert_eq!(bench.sqs.calls().len(), calls, "past it nothing is begun, and nothing went on");
}

#[tokio::test]
async fn a_fault_never_quotes_the_message() {
    let bench = bench();
    let code = "Odd\u{e9}: \"payload text\" <{}>".to_owned() + &"x".repeat(500);
    bench.sqs.fault("lane-a", SEND, 1, Fault::refuse(Which::All, &code));
    let outcomes = bench.queue.enqueue(&bench.a, &messages(["x"])).await;
    let Err(EnqueueError::Unconfirmed(word)) = &outcomes[0] else { panic!("{outcomes:?}") };
    assert!(word.len() <= 64 && word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b' '), "{word}");
}

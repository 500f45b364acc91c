//! What is packed into a call, and what never gets there.

use eventlane_contracts::limits::{MESSAGE_BYTES, SQS_CALL_BYTES};
use eventlane_queue::{Attributes, EnqueueError, Message, Producer};
use eventlane_testkit::scripted_sqs::{Action, Call};

use super::{bench, messages};

fn entries(calls: &[Call]) -> Vec<usize> {
    let mut entries: Vec<usize> = calls.iter().map(|call| call.entries.len()).collect();
    entries.sort_unstable();
    entries
}

#[tokio::test]
async fn a_call_carries_ten_messages_and_no_more() {
    let bench = bench();
    let many: Vec<Message> = (0..25).map(|n| Message::new(n.to_string())).collect();
    assert_eq!(bench.queue.enqueue(&bench.a, &many).await, vec![Ok(()); 25]);
    let calls = bench.sqs.calls_of(Action::SendMessageBatch, "lane-a");
    assert_eq!(entries(&calls), [5, 10, 10]);
    assert!(calls.iter().all(|call| call.entries[0].attributes["v"].string_value.as_deref() == Some("1")));
}

/// I38
#[tokio::test]
async fn a_calls_total_counts_attributes_too() {
    let bench = bench();
    let large = "x".repeat(614_400);
    assert_eq!(bench.queue.enqueue(&bench.a, &messages([&large, &large])).await, [Ok(()), Ok(())]);
    assert_eq!(entries(&bench.sqs.calls()), [1, 1], "two of 600 KiB don't share a call");

    // Two that fill a call to the byte share it, one byte more and they don't.
    let v = Attributes::default().bytes();
    let (half, more) = ("x".repeat(SQS_CALL_BYTES / 2 - v), "x".repeat(SQS_CALL_BYTES / 2 - v + 1));
    assert_eq!(bench.queue.enqueue(&bench.b, &messages([&half, &half])).await, [Ok(()), Ok(())]);
    assert_eq!(bench.queue.enqueue(&bench.b, &messages([&half, &more])).await, [Ok(()), Ok(())]);
    assert_eq!(entries(&bench.sqs.calls_of(Action::SendMessageBatch, "lane-b")), [1, 1, 2]);
}

/// I15, I38: characters, and a body of 1 MiB less 10 bytes with an attribute of more.
#[tokio::test]
async fn what_can_never_pass_is_refused_before_the_call() {
    let bench = bench();
    let attribute = |parent: &str| Message {
        body: "x".repeat(MESSAGE_BYTES - 10),
        attributes: Attributes { parent: Some(parent.to_owned()), ..Attributes::default() },
    };
    let unsendable = Message { body: "x".into(), ..attribute("\u{FFFE}") };
    let bad = ["\u{FFFF}", "\u{FFFE}", "\u{1}", "\u{0}", ""].map(|body| Message::new(body.to_owned()));
    let mut all = vec![Message::new("first".into()), attribute("parent"), unsendable];
    all.extend(bad);
    all.push(Message::new("last \u{1F600}\t\r\n\u{7f}".into()));
    let outcomes = bench.queue.enqueue(&bench.a, &all).await;
    let expected: Vec<_> = (0..all.len())
        .map(|index| if index == 0 || index == all.len() - 1 { Ok(()) } else { Err(EnqueueError::Contents) })
        .collect();
    assert_eq!(outcomes, expected);
    assert_eq!(entries(&bench.sqs.calls()), [2]);
}

#[tokio::test]
async fn nothing_to_send_makes_no_call() {
    let bench = bench();
    assert!(bench.queue.enqueue(&bench.a, &[]).await.is_empty());
    assert_eq!(bench.queue.enqueue(&bench.a, &messages([""])).await, [Err(EnqueueError::Contents)]);
    assert!(bench.sqs.calls().is_empty());
}

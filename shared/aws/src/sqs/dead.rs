//! Dead letters on SQS: copy first, delete second, so that one may come twice and none is lost.

use aws_sdk_sqs::types::Message;
use eventlane_contracts::{StreamName, text};
use eventlane_queue::{Attributes, DeadLetter, DeadLetterPage, Delivery, QueueError, Receipt, Unsettled};

use super::classify::Fault;
use super::copy::fitted;
use super::sample::Sample;
use super::send::send_one;
use super::{SqsQueue, receive, settle};

/// Messages of one round.
pub(super) const ROUND: usize = 10;

pub(super) async fn bury(
    queue: &SqsQueue,
    delivery: Delivery,
    reason: &str,
    attempts: u32,
) -> Result<(), Unsettled> {
    let Delivery { stream, body, attributes, first_received_us, receipt, .. } = delivery;
    let attributes = Attributes {
        reason: Some(text::dead_letter_reason(reason)),
        attempts: Some(attempts),
        first_received_us: Some(first_received_us),
        dead_lettered_us: Some(queue.clock.now_us()),
        ..attributes
    };
    let copy = send_one(queue, &queue.urls.dead(&stream), &body, &fitted(body.len(), attributes)).await;
    if let Err(fault) = copy {
        return Err(Unsettled { receipt, error: fault.into_queue() });
    }
    match delete_one(queue, &queue.urls.main(&stream), &receipt).await {
        Ok(()) => Ok(()),
        Err(error) => Err(Unsettled { receipt, error }),
    }
}

/// A part of a sub-batch, straight to the dead letters.
pub(super) async fn put(
    queue: &SqsQueue,
    stream: &StreamName,
    message: &eventlane_queue::Message,
) -> Result<(), QueueError> {
    let reason = message.attributes.reason.as_deref().map(text::dead_letter_reason);
    let attributes = Attributes { reason, ..message.attributes.clone() };
    let attributes = fitted(message.body.len(), attributes);
    let sent = send_one(queue, &queue.urls.dead(stream), &message.body, &attributes).await;
    sent.map_err(Fault::into_queue)
}

/// A sampled receive: "at least this many", never complete.
pub(super) async fn list(
    queue: &SqsQueue,
    stream: &StreamName,
    limit: usize,
) -> Result<DeadLetterPage, QueueError> {
    let mut sample = Sample::new(queue, queue.urls.dead(stream));
    let mut letters = Vec::new();
    let outcome = fill(&mut sample, &mut letters, limit).await;
    sample.give_back().await;
    outcome.map(|()| DeadLetterPage { letters, complete: false })
}

async fn fill(
    sample: &mut Sample<'_>,
    letters: &mut Vec<DeadLetter>,
    limit: usize,
) -> Result<(), QueueError> {
    while letters.len() < limit {
        let fresh = sample.next(ROUND.min(limit - letters.len())).await?;
        if fresh.is_empty() {
            break;
        }
        for (message, receipt) in fresh {
            letters.push(letter(&message));
            sample.hold(receipt);
        }
    }
    Ok(())
}

/// A fresh message of the same format: no attempt spent, no story.
pub(super) async fn copy_back(queue: &SqsQueue, stream: &StreamName, message: &Message) -> Result<(), Fault> {
    let version = receive::attributes(message).version;
    let body = message.body().unwrap_or_default();
    let attributes = fitted(body.len(), Attributes { version, ..Attributes::default() });
    send_one(queue, &queue.urls.main(stream), body, &attributes).await
}

pub(super) async fn delete_one(queue: &SqsQueue, url: &str, receipt: &Receipt) -> Result<(), QueueError> {
    settle::delete(queue, url, &[receipt.handle()]).await.into_iter().collect()
}

pub(super) fn letter(message: &Message) -> DeadLetter {
    let attributes = receive::attributes(message);
    DeadLetter {
        id: message.message_id().unwrap_or_default().to_owned(),
        body: message.body().unwrap_or_default().to_owned(),
        reason: attributes.reason,
        attempts: attributes.attempts,
        first_received_us: attributes.first_received_us,
        dead_lettered_us: attributes.dead_lettered_us,
    }
}

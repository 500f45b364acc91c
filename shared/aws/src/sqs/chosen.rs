//! Chosen dead letters, taken out: back to their queue or gone for good. The others stay where they
//! are.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use aws_sdk_sqs::types::Message;
use eventlane_contracts::StreamName;
use eventlane_queue::{Choice, QueueError, Receipt};

use super::SqsQueue;
use super::classify::Fault;
use super::dead::{ROUND, copy_back, delete_one, letter};
use super::sample::Sample;

/// What becomes of a chosen letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    /// Copied to its stream's queue first, deleted second.
    BackToTheQueue,
    /// Deleted.
    Gone,
}

/// Takes out up to `limit` chosen letters and counts them. What a fault left undone stays, and so does a
/// letter with the text of one that this call has put back: it is that one, given up once more.
pub(super) async fn take(
    queue: &SqsQueue,
    stream: &StreamName,
    choose: &Choice<'_>,
    limit: usize,
    then: Then,
) -> Result<usize, QueueError> {
    let mut sample = Sample::new(queue, queue.urls.dead(stream));
    let outcome = rounds(queue, stream, &mut sample, choose, limit, then).await;
    sample.give_back().await;
    outcome
}

async fn rounds(
    queue: &SqsQueue,
    stream: &StreamName,
    sample: &mut Sample<'_>,
    choose: &Choice<'_>,
    limit: usize,
    then: Then,
) -> Result<usize, QueueError> {
    let mut count = 0;
    // A drain that is at work gives a letter up again as quickly as it is put back.
    let (hashes, mut put_back) = (RandomState::new(), HashSet::new());
    while count < limit {
        let fresh = sample.next(ROUND).await?;
        if fresh.is_empty() {
            break;
        }
        let mut fault = None;
        for (message, receipt) in fresh {
            if fault.is_some() || count == limit || !choose(&letter(&message)) {
                sample.hold(receipt);
                continue;
            }
            if then == Then::BackToTheQueue && !put_back.insert(hashes.hash_one(message.body())) {
                sample.hold(receipt);
                continue;
            }
            match take_one(queue, stream, &message, &receipt, then).await {
                Ok(Taken::Whole) => count += 1,
                Ok(Taken::Copied) => {
                    count += 1;
                    sample.hold(receipt);
                }
                Err(error) => {
                    fault = Some(error);
                    sample.hold(receipt);
                }
            }
        }
        if let Some(fault) = fault {
            return Err(fault);
        }
    }
    Ok(count)
}

enum Taken {
    /// It is no dead letter any more.
    Whole,
    /// It is back on its queue, so it counts; the letter shows up once more.
    Copied,
}

async fn take_one(
    queue: &SqsQueue,
    stream: &StreamName,
    message: &Message,
    receipt: &Receipt,
    then: Then,
) -> Result<Taken, QueueError> {
    if then == Then::BackToTheQueue {
        copy_back(queue, stream, message).await.map_err(Fault::into_queue)?;
    }
    match delete_one(queue, &queue.urls.dead(stream), receipt).await {
        Ok(()) => Ok(Taken::Whole),
        Err(error) if then == Then::BackToTheQueue => {
            tracing::warn!(stream = stream.as_str(), tag = error.tag(), "a requeued dead letter stays");
            Ok(Taken::Copied)
        }
        Err(error) => Err(error),
    }
}

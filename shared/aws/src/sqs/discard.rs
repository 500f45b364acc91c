//! Discard: chosen dead letters, deleted for good; the others stay where they are.

use eventlane_contracts::StreamName;
use eventlane_queue::{Choice, Discarded, QueueError};

use super::SqsQueue;
use super::dead::{ROUND, delete_one, letter};
use super::sample::Sample;

pub(super) async fn discard(
    queue: &SqsQueue,
    stream: &StreamName,
    choose: &Choice<'_>,
    limit: usize,
) -> Result<Discarded, QueueError> {
    let mut sample = Sample::new(queue, queue.urls.dead(stream));
    let mut count = 0;
    let outcome = delete(queue, stream, &mut sample, choose, limit, &mut count).await;
    sample.give_back().await;
    outcome.map(|()| Discarded { count, complete: false })
}

async fn delete(
    queue: &SqsQueue,
    stream: &StreamName,
    sample: &mut Sample<'_>,
    choose: &Choice<'_>,
    limit: usize,
    count: &mut usize,
) -> Result<(), QueueError> {
    while *count < limit {
        let fresh = sample.next(ROUND).await?;
        if fresh.is_empty() {
            break;
        }
        let mut fault = None;
        for (message, receipt) in fresh {
            if fault.is_some() || *count == limit || !choose(&letter(&message)) {
                sample.hold(receipt);
                continue;
            }
            match delete_one(queue, &queue.urls.dead(stream), &receipt).await {
                Ok(()) => *count += 1,
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
    Ok(())
}

//! Settle: extend, ack and release in batches, one outcome a receipt.

use std::time::Duration;

use aws_sdk_sqs::types::{ChangeMessageVisibilityBatchRequestEntry, DeleteMessageBatchRequestEntry};
use eventlane_contracts::limits::SQS_CALL_ENTRIES;
use eventlane_queue::{QueueError, Receipt, Unsettled};
use futures::StreamExt;
use futures::stream;

use super::answer::{entry_id, outcomes};
use super::classify::Fault;
use super::receive::visibility_seconds;
use super::{CALLS_AT_ONCE, SqsQueue};

type Outcomes = Vec<Result<(), QueueError>>;

/// Makes messages visible after `visibility` from now. No handles, no call.
pub(super) async fn change_visibility(
    queue: &SqsQueue,
    url: &str,
    handles: &[&str],
    visibility: Duration,
) -> Outcomes {
    let seconds = visibility_seconds(visibility);
    in_tens(handles.chunks(SQS_CALL_ENTRIES).map(|chunk| visibility_call(queue, url, chunk, seconds))).await
}

/// Deletes messages. No handles, no call.
pub(super) async fn delete(queue: &SqsQueue, url: &str, handles: &[&str]) -> Outcomes {
    in_tens(handles.chunks(SQS_CALL_ENTRIES).map(|chunk| delete_call(queue, url, chunk))).await
}

async fn in_tens<F: Future<Output = Outcomes>>(calls: impl Iterator<Item = F>) -> Outcomes {
    let calls: Vec<F> = calls.collect();
    stream::iter(calls).buffered(CALLS_AT_ONCE).collect::<Vec<_>>().await.concat()
}

async fn visibility_call(queue: &SqsQueue, url: &str, handles: &[&str], seconds: i32) -> Outcomes {
    let entries = handles.iter().enumerate().map(|(at, handle)| visibility_entry(at, handle, seconds));
    let call = queue.client.change_message_visibility_batch().queue_url(url);
    match call.set_entries(Some(entries.collect())).send().await {
        Ok(answer) => {
            let successful = answer.successful.iter().map(|one| one.id.as_str());
            settled(outcomes(handles.len(), successful, &answer.failed))
        }
        Err(error) => vec![Err(Fault::of_call(&error).into_queue()); handles.len()],
    }
}

async fn delete_call(queue: &SqsQueue, url: &str, handles: &[&str]) -> Outcomes {
    let entries = handles.iter().enumerate().map(|(at, handle)| delete_entry(at, handle));
    let call = queue.client.delete_message_batch().queue_url(url);
    match call.set_entries(Some(entries.collect())).send().await {
        Ok(answer) => {
            let successful = answer.successful.iter().map(|one| one.id.as_str());
            settled(outcomes(handles.len(), successful, &answer.failed))
        }
        Err(error) => vec![Err(Fault::of_call(&error).into_queue()); handles.len()],
    }
}

fn settled(outcomes: Vec<Result<(), Fault>>) -> Outcomes {
    outcomes.into_iter().map(|outcome| outcome.map_err(Fault::into_settle)).collect()
}

/// The handles of receipts that are held here.
pub(super) fn handles(receipts: &[Receipt]) -> Vec<&str> {
    receipts.iter().map(Receipt::handle).collect()
}

/// Hands back the receipts whose settle failed.
pub(super) fn pair(receipts: Vec<Receipt>, outcomes: Outcomes) -> Vec<Result<(), Unsettled>> {
    let pairs = receipts.into_iter().zip(outcomes);
    pairs.map(|(receipt, outcome)| outcome.map_err(|error| Unsettled { receipt, error })).collect()
}

#[expect(clippy::expect_used, reason = "an entry only asks for an id and a receipt")]
fn visibility_entry(at: usize, handle: &str, seconds: i32) -> ChangeMessageVisibilityBatchRequestEntry {
    ChangeMessageVisibilityBatchRequestEntry::builder()
        .id(entry_id(at))
        .receipt_handle(handle)
        .visibility_timeout(seconds)
        .build()
        .expect("id and receipt are set")
}

#[expect(clippy::expect_used, reason = "an entry only asks for an id and a receipt")]
fn delete_entry(at: usize, handle: &str) -> DeleteMessageBatchRequestEntry {
    DeleteMessageBatchRequestEntry::builder()
        .id(entry_id(at))
        .receipt_handle(handle)
        .build()
        .expect("id and receipt are set")
}

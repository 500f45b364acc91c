//! Enqueue: messages into calls, one outcome a message from what the queue confirmed.
//!
//! Calls of one stream go side by side, and one that fails, or isn't answered by the deadline, leaves
//! the others' results alone.

use std::collections::HashMap;
use std::time::Duration;

use aws_sdk_sqs::types::{MessageAttributeValue, SendMessageBatchRequestEntry};
use eventlane_contracts::StreamName;
use eventlane_queue::{EnqueueError, MAX_DELAY, Message};
use futures::StreamExt;
use futures::stream;
use tokio::time::{Instant, timeout_at};

use super::answer::{entry_id, outcomes};
use super::classify::{Fault, Kind};
use super::copy::{Carried, carried};
use super::pack::pack;
use super::receive::whole_seconds;
use super::{CALLS_AT_ONCE, SqsQueue};

pub(super) async fn enqueue(
    queue: &SqsQueue,
    stream: &StreamName,
    messages: &[Message],
    deadline: Option<Instant>,
) -> Vec<Result<(), EnqueueError>> {
    let url = queue.urls.main(stream);
    // Judged here, since one bad message can cost a whole call: its neighbours never meet it.
    let mut results: Vec<_> = messages
        .iter()
        .map(|message| if message.is_sendable() { Ok(()) } else { Err(EnqueueError::Contents) })
        .collect();
    let sendable: Vec<usize> = (0..messages.len()).filter(|&index| results[index].is_ok()).collect();
    let bytes: Vec<usize> = sendable.iter().map(|&index| messages[index].bytes()).collect();
    let calls: Vec<_> = pack(&bytes)
        .into_iter()
        .map(|range| {
            let (url, indices) = (url.as_str(), &sendable[range]);
            let entries: Vec<&Message> = indices.iter().map(|&index| &messages[index]).collect();
            async move { (indices, send_or_single_out(queue, url, &entries, deadline).await) }
        })
        .collect();
    let answers: Vec<_> = stream::iter(calls).buffer_unordered(CALLS_AT_ONCE).collect().await;
    for (indices, outcomes) in answers {
        for (&index, outcome) in indices.iter().zip(outcomes) {
            results[index] = outcome.map_err(Fault::into_enqueue);
        }
    }
    results
}

/// Sends one call; when it is refused as a whole for what is in it, each message by itself.
async fn send_or_single_out(
    queue: &SqsQueue,
    url: &str,
    messages: &[&Message],
    deadline: Option<Instant>,
) -> Vec<Result<(), Fault>> {
    match send_by(queue, url, messages, deadline).await {
        Ok(outcomes) => outcomes,
        Err(fault) if matches!(fault.kind, Kind::Contents | Kind::Size) && messages.len() > 1 => {
            let mut outcomes = Vec::with_capacity(messages.len());
            for message in messages {
                let alone = send_by(queue, url, &[message], deadline).await;
                outcomes.push(alone.and_then(|mut one| one.remove(0)));
            }
            outcomes
        }
        Err(fault) => vec![Err(fault); messages.len()],
    }
}

/// One call that is over by the deadline; past it none is begun.
async fn send_by(
    queue: &SqsQueue,
    url: &str,
    messages: &[&Message],
    deadline: Option<Instant>,
) -> Result<Vec<Result<(), Fault>>, Fault> {
    let Some(deadline) = deadline else { return send(queue, url, messages).await };
    let late = || Fault::new(Kind::Service, "deadline");
    if Instant::now() >= deadline {
        return Err(late());
    }
    timeout_at(deadline, send(queue, url, messages)).await.unwrap_or_else(|_| Err(late()))
}

/// One call: one outcome a message, or the whole call's fault.
async fn send(queue: &SqsQueue, url: &str, messages: &[&Message]) -> Result<Vec<Result<(), Fault>>, Fault> {
    let entries = messages.iter().enumerate().map(|(position, message)| entry(position, message)).collect();
    let call = queue.client.send_message_batch().queue_url(url).set_entries(Some(entries));
    let answer = call.send().await.map_err(|error| Fault::of_call(&error))?;
    let successful = answer.successful.iter().map(|one| one.id.as_str());
    Ok(outcomes(messages.len(), successful, &answer.failed))
}

#[expect(clippy::expect_used, reason = "an entry only asks for an id and a body")]
fn entry(position: usize, message: &Message) -> SendMessageBatchRequestEntry {
    SendMessageBatchRequestEntry::builder()
        .id(entry_id(position))
        .message_body(&message.body)
        .set_message_attributes(attribute_values(&carried(&message.attributes)))
        .build()
        .expect("id and body are set")
}

/// Sends one message, outside of any batch.
pub(super) async fn send_one(
    queue: &SqsQueue,
    url: &str,
    body: &str,
    attributes: &[Carried],
) -> Result<(), Fault> {
    send_delayed(queue, url, body, attributes, None).await
}

async fn send_delayed(
    queue: &SqsQueue,
    url: &str,
    body: &str,
    attributes: &[Carried],
    delay_seconds: Option<i32>,
) -> Result<(), Fault> {
    let call = queue.client.send_message().queue_url(url).message_body(body);
    let call = call.set_delay_seconds(delay_seconds).set_message_attributes(attribute_values(attributes));
    call.send().await.map(drop).map_err(|error| Fault::of_call(&error))
}

/// Enqueues one message that stays hidden at first, in whole seconds, rounded up.
pub(super) async fn enqueue_after(
    queue: &SqsQueue,
    stream: &StreamName,
    message: &Message,
    delay: Duration,
) -> Result<(), EnqueueError> {
    if !message.is_sendable() {
        return Err(EnqueueError::Contents);
    }
    let (url, delay) = (queue.urls.main(stream), whole_seconds(delay.min(MAX_DELAY)));
    let sent = send_delayed(queue, &url, &message.body, &carried(&message.attributes), Some(delay)).await;
    sent.map_err(Fault::into_enqueue)
}

#[expect(clippy::expect_used, reason = "an attribute only asks for a type")]
fn attribute_values(attributes: &[Carried]) -> Option<HashMap<String, MessageAttributeValue>> {
    let values = attributes.iter().map(|(name, kind, value)| {
        let value = MessageAttributeValue::builder().data_type(*kind).string_value(value).build();
        ((*name).to_owned(), value.expect("the type is set"))
    });
    (!attributes.is_empty()).then(|| values.collect())
}

//! Receive: a long poll, and a message as a delivery.

use std::time::Duration;

use aws_config::timeout::TimeoutConfig;
use aws_sdk_sqs::config::{Config, StalledStreamProtectionConfig};
use aws_sdk_sqs::types::{Message, MessageSystemAttributeName};
use eventlane_contracts::StreamName;
use eventlane_queue::{Attributes, Delivery, QueueError, Receipt};

use super::SqsQueue;
use super::classify::Fault;

/// Messages of one receive. Source: SQS `ReceiveMessage`, `MaxNumberOfMessages`.
const RECEIVE_MESSAGES: usize = 10;

/// Seconds of one long poll. Source: SQS `ReceiveMessage`, `WaitTimeSeconds`.
const WAIT_SECONDS: i32 = 20;

/// Seconds of a visibility. Source: SQS quotas, "Message visibility timeout" (12 hours).
const VISIBILITY_SECONDS: i32 = 43_200;

/// A visibility in SQS's unit: whole seconds, rounded up so that no lease is shorter than asked
/// for, at most 12 hours.
pub(super) fn visibility_seconds(visibility: Duration) -> i32 {
    whole_seconds(visibility).min(VISIBILITY_SECONDS)
}

/// A duration in SQS's unit, rounded up.
pub(super) fn whole_seconds(duration: Duration) -> i32 {
    let seconds = duration.as_secs().saturating_add(u64::from(duration.subsec_nanos() > 0));
    i32::try_from(seconds).unwrap_or(i32::MAX)
}

pub(super) async fn receive(
    queue: &SqsQueue,
    stream: &StreamName,
    max: usize,
    visibility: Duration,
    wait: Duration,
) -> Result<Vec<Delivery>, QueueError> {
    let url = queue.urls.main(stream);
    let messages = poll(queue, &url, max, visibility, wait).await?;
    Ok(messages.into_iter().filter_map(|message| delivery(queue, stream, message)).collect())
}

/// One `ReceiveMessage` on any of the queues.
pub(super) async fn poll(
    queue: &SqsQueue,
    url: &str,
    max: usize,
    visibility: Duration,
    wait: Duration,
) -> Result<Vec<Message>, QueueError> {
    let Ok(max @ 1..) = i32::try_from(max.min(RECEIVE_MESSAGES)) else {
        return Ok(Vec::new());
    };
    let wait = whole_seconds(wait).min(WAIT_SECONDS);
    let answer = queue
        .client
        .receive_message()
        .queue_url(url)
        .max_number_of_messages(max)
        .visibility_timeout(visibility_seconds(visibility))
        .wait_time_seconds(wait)
        .message_attribute_names("All")
        .message_system_attribute_names(MessageSystemAttributeName::ApproximateReceiveCount)
        .message_system_attribute_names(MessageSystemAttributeName::ApproximateFirstReceiveTimestamp)
        .customize()
        .config_override(patient(Duration::from_secs(wait.unsigned_abs().into()) + queue.receive_margin))
        .send()
        .await;
    answer
        .map(|answer| answer.messages.unwrap_or_default())
        .map_err(|error| Fault::of_call(&error).into_queue())
}

/// A quiet queue says nothing for the whole wait: the guard against stalled streams takes that for
/// a fault, and the deadlines of other calls are shorter than the wait.
fn patient(deadline: Duration) -> aws_sdk_sqs::config::Builder {
    Config::builder().stalled_stream_protection(StalledStreamProtectionConfig::disabled()).timeout_config(
        TimeoutConfig::builder().operation_attempt_timeout(deadline).operation_timeout(deadline).build(),
    )
}

fn delivery(queue: &SqsQueue, stream: &StreamName, message: Message) -> Option<Delivery> {
    let attributes = attributes(&message);
    let receive_count = system(&message, &MessageSystemAttributeName::ApproximateReceiveCount).unwrap_or(1);
    let first_received_us = system(&message, &MessageSystemAttributeName::ApproximateFirstReceiveTimestamp)
        .map_or_else(|| queue.clock.now_us(), |milliseconds: i64| milliseconds.saturating_mul(1000));
    let Some(handle) = message.receipt_handle else {
        tracing::warn!(
            stream = stream.as_str(),
            "a message without a receipt can't be settled: left to lapse"
        );
        return None;
    };
    Some(Delivery {
        id: message.message_id.unwrap_or_default(),
        stream: stream.clone(),
        body: message.body.unwrap_or_default(),
        attributes,
        receive_count,
        first_received_us,
        receipt: Receipt::from_handle(handle),
    })
}

pub(super) fn attributes(message: &Message) -> Attributes {
    let pairs = message.message_attributes.iter().flatten();
    Attributes::from_pairs(pairs.filter_map(|(name, value)| Some((name.as_str(), value.string_value()?))))
}

fn system<T: std::str::FromStr>(message: &Message, name: &MessageSystemAttributeName) -> Option<T> {
    message.attributes.as_ref()?.get(name)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_rounded_up_and_capped() {
        for (milliseconds, seconds) in [(0, 0), (1, 1), (1000, 1), (1001, 2), (43_200_001, 43_200)] {
            assert_eq!(visibility_seconds(Duration::from_millis(milliseconds)), seconds);
        }
        assert_eq!(visibility_seconds(Duration::MAX), 43_200);
    }
}

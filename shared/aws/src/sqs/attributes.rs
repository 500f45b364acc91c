//! What SQS says of a queue as a whole: approximate counts, and its name for a redrive.

use aws_sdk_sqs::types::QueueAttributeName as Name;
use eventlane_contracts::StreamName;
use eventlane_queue::{QueueCounts, QueueError};

use super::SqsQueue;
use super::classify::Fault;

/// Messages in flight on a standard queue. Source: SQS quotas, "In-flight messages".
const IN_FLIGHT_CAP: u64 = 120_000;

pub(super) async fn counts(queue: &SqsQueue, stream: &StreamName) -> Result<QueueCounts, QueueError> {
    let (main, dead) = (queue.urls.main(stream), queue.urls.dead(stream));
    let (main, dead) = futures::join!(numbers(queue, &main), numbers(queue, &dead));
    let ([waiting, delayed, hidden], dead) = (main?, dead?);
    Ok(QueueCounts {
        waiting,
        in_flight: delayed + hidden,
        // One that somebody looks at is a dead letter all the same.
        dead_letters: dead.iter().sum(),
        oldest_age: None,
        in_flight_cap: Some(IN_FLIGHT_CAP),
    })
}

/// Visible, delayed and in flight.
async fn numbers(queue: &SqsQueue, url: &str) -> Result<[u64; 3], QueueError> {
    let names = [
        Name::ApproximateNumberOfMessages,
        Name::ApproximateNumberOfMessagesDelayed,
        Name::ApproximateNumberOfMessagesNotVisible,
    ];
    let mut call = queue.client.get_queue_attributes().queue_url(url);
    for name in names.clone() {
        call = call.attribute_names(name);
    }
    let answer = call.send().await.map_err(|error| Fault::of_call(&error).into_queue())?;
    let number = |name: &Name| answer.attributes.as_ref()?.get(name)?.parse().ok();
    Ok(names.map(|name| number(&name).unwrap_or(0)))
}

/// The name by which AWS calls a queue.
pub(super) async fn arn(queue: &SqsQueue, url: &str) -> Result<String, QueueError> {
    let call = queue.client.get_queue_attributes().queue_url(url).attribute_names(Name::QueueArn);
    let answer = call.send().await.map_err(|error| Fault::of_call(&error).into_queue())?;
    let arn = answer.attributes.and_then(|mut all| all.remove(&Name::QueueArn));
    arn.ok_or_else(|| QueueError::Queue("no QueueArn".to_owned()))
}

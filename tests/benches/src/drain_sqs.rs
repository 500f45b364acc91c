//! Drain of SQS by the real SDK, the scripted SQS behind it.

use std::sync::Arc;
use std::time::Duration;

use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_sqs::config::{Credentials, SharedCredentialsProvider};
use eventlane_aws::SqsQueue;
use eventlane_contracts::SystemClock;
use eventlane_testkit::scripted_sqs::ScriptedSqs;

use crate::drain::{EVENTS, ROUNDS, SUB_BATCHES, figure, measure};
use crate::report::Figure;

pub(crate) fn drain() -> anyhow::Result<Figure> {
    let sqs = ScriptedSqs::start(Arc::new(SystemClock), ["mine-s", "bare-s"]);
    let [mine, bare] = queues(&sqs)?;
    Ok(figure("drain_sqs", &measure(&mine, &bare, SUB_BATCHES, EVENTS, ROUNDS)?))
}

/// Time of one sub-batch of so many events, in the process that drains and in the scripted SQS.
pub(crate) fn sub_batch(events: usize) -> anyhow::Result<Duration> {
    let sqs = ScriptedSqs::start(Arc::new(SystemClock), ["mine-s", "bare-s"]);
    let [mine, bare] = queues(&sqs)?;
    Ok(measure(&mine, &bare, 100, events, 3)?.part / 100)
}

fn queues(sqs: &ScriptedSqs) -> anyhow::Result<[SqsQueue; 2]> {
    let credentials = Credentials::new("bench", "bench", None, None, "bench");
    let config = SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("us-east-1"))
        .endpoint_url(sqs.url())
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .build();
    let queue = |prefix: &str| SqsQueue::new(&config, &sqs.queue_url(prefix), Arc::new(SystemClock));
    Ok([queue("mine")?, queue("bare")?])
}

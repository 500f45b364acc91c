//! The crate's promises, against a scripted SQS and against emulators.

mod archive_faults;
mod archive_ministack;
mod cases;
mod conformance_localstack;
mod conformance_ministack;
mod conformance_scripted;
mod consent;
mod consent_ministack;
mod dead_letters;
mod emulated_queues;
mod endpoints;
mod enqueue_faults;
mod enqueue_limits;
mod ledger_ministack;
mod nudge;
mod receive_and_settle;

use std::sync::Arc;
use std::time::Duration;

use aws_config::retry::RetryConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_sqs::config::{Credentials, SharedCredentialsProvider};
use eventlane_contracts::StreamName;
use eventlane_queue::Message;
use eventlane_testkit::ManualClock;
use eventlane_testkit::scripted_sqs::ScriptedSqs;

use crate::{SqsQueue, Timeouts};

const LEASE: Duration = Duration::from_secs(30);

/// A configuration for an endpoint that takes any credentials.
fn config(endpoint: &str, timeouts: Timeouts, attempts: u32) -> SdkConfig {
    let credentials = Credentials::new("test", "test", None, None, "test");
    SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("us-east-1"))
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .endpoint_url(endpoint)
        .http_client(crate::config::http_client())
        .timeout_config(timeouts.to_config())
        .retry_config(
            RetryConfig::standard()
                .with_max_attempts(attempts)
                .with_initial_backoff(Duration::from_millis(1)),
        )
        .build()
}

/// A scripted SQS with the streams `a` and `b`, and the backend on it.
struct Bench {
    sqs: ScriptedSqs,
    clock: ManualClock,
    queue: SqsQueue,
    a: StreamName,
    b: StreamName,
}

/// A bench whose calls are not repeated by the SDK.
fn bench() -> Bench {
    bench_with(Timeouts::default(), 1)
}

fn bench_with(timeouts: Timeouts, attempts: u32) -> Bench {
    let clock = ManualClock::default();
    let sqs = ScriptedSqs::start(Arc::new(clock.clone()), ["lane-a", "lane-a-dlq", "lane-b", "lane-b-dlq"]);
    let queue = queue_on(&sqs, &clock, timeouts, attempts);
    Bench { sqs, clock, queue, a: stream("a"), b: stream("b") }
}

fn queue_on(sqs: &ScriptedSqs, clock: &ManualClock, timeouts: Timeouts, attempts: u32) -> SqsQueue {
    let config = config(&sqs.url(), timeouts, attempts);
    SqsQueue::new(&config, &sqs.queue_url("lane"), Arc::new(clock.clone())).unwrap()
}

fn stream(name: &str) -> StreamName {
    StreamName::new(name).unwrap()
}

fn messages<const N: usize>(bodies: [&str; N]) -> [Message; N] {
    bodies.map(|body| Message::new(body.to_owned()))
}

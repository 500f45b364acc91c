//! Where calls go: the configuration's endpoint, else the prefix's host.

use std::env;
use std::process::Command;
use std::sync::Arc;

use aws_config::retry::RetryConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_sqs::config::{Credentials, SharedCredentialsProvider};
use eventlane_contracts::SystemClock;
use eventlane_queue::Producer;
use eventlane_testkit::emulators::aws_environment;

use super::{bench, messages};
use crate::{SqsQueue, Timeouts, sdk_config};

/// The prefix that the child process sends under.
const PREFIX: &str = "EVENTLANE_TEST_PREFIX";

#[tokio::test]
async fn without_an_endpoint_calls_go_to_the_prefixs_host() {
    let bench = bench();
    let config = SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("us-east-1"))
        .credentials_provider(SharedCredentialsProvider::new(Credentials::new("k", "s", None, None, "test")))
        .retry_config(RetryConfig::disabled())
        .build();
    let queue = SqsQueue::new(&config, &bench.sqs.queue_url("lane"), Arc::new(SystemClock)).unwrap();
    assert_eq!(queue.enqueue(&bench.a, &messages(["x"])).await, [Ok(())]);
}

#[tokio::test]
async fn with_an_endpoint_calls_go_there_whatever_the_prefixs_host() {
    let bench = bench();
    let config = super::config(&bench.sqs.url(), Timeouts::default(), 1);
    for prefix in
        ["http://elsewhere.invalid/queue/us-east-1/1/lane", "https://sqs.eu-west-1.amazonaws.com/1/lane"]
    {
        let queue = SqsQueue::new(&config, prefix, Arc::new(SystemClock)).unwrap();
        assert_eq!(queue.enqueue(&bench.a, &messages(["x"])).await, [Ok(())], "{prefix}");
    }
    assert!(SqsQueue::new(&config, "lane", Arc::new(SystemClock)).is_err());
}

/// The test starts itself again in the environment it asks about, and there only sends.
#[tokio::test]
async fn the_environments_endpoint_is_honoured() {
    if let Ok(prefix) = env::var(PREFIX) {
        let config = sdk_config(Timeouts::default()).await;
        let queue = SqsQueue::new(&config, &prefix, Arc::new(SystemClock)).unwrap();
        assert_eq!(queue.enqueue(&super::stream("a"), &messages(["x"])).await, [Ok(())]);
        return;
    }
    let bench = bench();
    let child = Command::new(env::current_exe().unwrap())
        .args(["--exact", "tests::endpoints::the_environments_endpoint_is_honoured"])
        .envs(aws_environment(&bench.sqs.url()))
        .env(PREFIX, "https://sqs.eu-west-1.amazonaws.com/123456789012/lane")
        .output()
        .unwrap();
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
    assert_eq!(bench.sqs.messages("lane-a").len(), 1);
}

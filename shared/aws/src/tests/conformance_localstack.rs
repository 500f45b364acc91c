//! The suite of the seam, on LocalStack.

use eventlane_queue::conformance::{self, Harness};
use eventlane_queue::{EnqueueError, Message};
use eventlane_testkit::emulators::localstack_url;

use super::emulated_queues::EmulatedQueues;

#[tokio::test]
async fn sqs_on_localstack_conforms() {
    let queues = EmulatedQueues::on(&localstack_url(), "/queue/us-east-1/000000000000");
    conformance::run(&queues).await;
}

#[tokio::test]
async fn a_queue_that_takes_less_is_the_queues_fault() {
    let queues = EmulatedQueues::on(&localstack_url(), "/queue/us-east-1/000000000000");
    let stream = queues.stream_of(1_024).await;
    let messages = [100, 2_000, 200].map(|bytes| Message::new("x".repeat(bytes)));
    let outcomes = queues.producer().enqueue(&stream, &messages).await;
    // Its sub-batch is halved; an event that doesn't fit even alone is deferred and not rejected.
    assert_eq!(outcomes, [Ok(()), Err(EnqueueError::TooLarge), Ok(())]);
}

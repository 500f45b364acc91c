//! Queues on an emulator, made for one test and named so that no two tests meet.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::QueueAttributeName;
use eventlane_contracts::limits::MESSAGE_BYTES;
use eventlane_contracts::{StreamName, SystemClock};
use eventlane_queue::conformance::Harness;
use eventlane_queue::{Consumer, Producer};
use uuid::Uuid;

use super::{config, stream};
use crate::{SqsQueue, Timeouts};

pub(super) struct EmulatedQueues {
    client: Client,
    queue: SqsQueue,
    name: String,
    next: AtomicU32,
}

impl EmulatedQueues {
    /// `path` is where the emulator's queue URLs keep the account.
    pub(super) fn on(endpoint: &str, path: &str) -> Self {
        let config = config(endpoint, Timeouts::default(), 3);
        let name = format!("t{}", &Uuid::new_v4().simple().to_string()[..12]);
        let prefix = format!("{endpoint}{path}/{name}");
        let queue = SqsQueue::new(&config, &prefix, Arc::new(SystemClock)).unwrap();
        Self { client: Client::new(&config), queue, name, next: AtomicU32::new(0) }
    }

    /// A fresh stream whose queues take messages of at most this many bytes.
    pub(super) async fn stream_of(&self, maximum_bytes: usize) -> StreamName {
        let stream = format!("s{}", self.next.fetch_add(1, Ordering::SeqCst));
        let main = format!("{}-{stream}", self.name);
        let dead = format!("{main}-dlq");
        // As provisioned: the queue's own redrive is a backstop, and makes the other a dead-letter
        // queue in SQS's eyes, without which it starts no move.
        let policy = format!(
            r#"{{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:{dead}","maxReceiveCount":"50"}}"#
        );
        for (name, policy) in [(dead, None), (main, Some(policy))] {
            let create = self.client.create_queue().queue_name(name);
            let mut create =
                create.attributes(QueueAttributeName::MaximumMessageSize, maximum_bytes.to_string());
            if let Some(policy) = policy {
                create = create.attributes(QueueAttributeName::RedrivePolicy, policy);
            }
            create.send().await.unwrap();
        }
        super::stream(&stream)
    }
}

#[async_trait]
impl Harness for EmulatedQueues {
    fn producer(&self) -> Arc<dyn Producer> {
        Arc::new(self.queue.clone())
    }

    fn consumer(&self) -> Arc<dyn Consumer> {
        Arc::new(self.queue.clone())
    }

    async fn fresh_stream(&self) -> StreamName {
        self.stream_of(MESSAGE_BYTES).await
    }

    fn missing_stream(&self) -> StreamName {
        stream("missing")
    }

    async fn pass(&self, _: Duration) {
        // Real time passes while a receive waits.
    }

    fn patience(&self) -> Duration {
        Duration::from_secs(3)
    }
}

//! The queue seam over SQS.
//!
//! A stream's queue is found by its name, never looked up: nothing is asked at start, and a queue
//! that is missing is its own stream's fault only. Every batch call's answer is read entry by entry.

mod answer;
mod attributes;
mod chosen;
mod classify;
mod copy;
mod dead;
mod nudge;
mod pack;
mod receive;
mod redrive;
mod sample;
mod send;
mod settle;
mod urls;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use aws_config::{Region, SdkConfig};
use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::Builder;
use eventlane_contracts::{Clock, StreamName};
use eventlane_queue::{
    Choice, Consumer, DeadLetterPage, Delivery, Discarded, EnqueueError, Lease, Message, Producer,
    QueueCounts, QueueError, Receipt, Redrive, Requeued, Unsettled,
};
use tokio::time::Instant;

pub use nudge::{NudgeUrlError, SqsNudge};
pub use urls::UrlPrefixError;

use chosen::Then;
use urls::QueueUrls;

/// Calls of one request to one queue that are under way at once: enough to hide their latency, too
/// few to be throttled for.
const CALLS_AT_ONCE: usize = 4;

/// How long a receive's answer may take beyond its wait.
const RECEIVE_MARGIN: Duration = Duration::from_secs(5);

/// Streams' queues on SQS. Clones share the client and its connections.
#[derive(Clone)]
pub struct SqsQueue {
    client: Client,
    urls: QueueUrls,
    clock: Arc<dyn Clock>,
    receive_margin: Duration,
}

impl SqsQueue {
    /// Queues under a URL prefix, without asking the service anything.
    ///
    /// A stream's queues are `<prefix>-<stream>` and `<prefix>-<stream>-dlq`. On AWS's own hosts
    /// (`sqs.<region>.amazonaws.com`) calls go to the prefix's region, whatever the configuration
    /// says. An endpoint in the configuration (`AWS_ENDPOINT_URL`) is used as it is; without one,
    /// calls for any other host go to that host (`AWS_ENDPOINT_URL_SQS` counts on AWS's hosts only).
    ///
    /// # Errors
    /// [`UrlPrefixError`] when the prefix is not an http or https URL that ends with a queue name of
    /// at most 45 letters, digits, hyphens and underscores.
    pub fn new(config: &SdkConfig, url_prefix: &str, clock: Arc<dyn Clock>) -> Result<Self, UrlPrefixError> {
        let urls = QueueUrls::new(url_prefix)?;
        let mut service = Builder::from(config);
        if let Some(region) = urls.region() {
            service = service.region(Region::new(region.to_owned()));
        } else if config.endpoint_url().is_none() {
            service = service.endpoint_url(urls.origin());
        }
        let client = Client::from_conf(service.build());
        Ok(Self { client, urls, clock, receive_margin: RECEIVE_MARGIN })
    }

    /// Sets how long a receive's answer may take beyond its wait. Default 5 s.
    #[must_use]
    pub fn with_receive_margin(mut self, margin: Duration) -> Self {
        self.receive_margin = margin;
        self
    }
}

#[async_trait]
impl Producer for SqsQueue {
    async fn enqueue(&self, stream: &StreamName, messages: &[Message]) -> Vec<Result<(), EnqueueError>> {
        send::enqueue(self, stream, messages, None).await
    }

    async fn enqueue_by(
        &self,
        stream: &StreamName,
        messages: &[Message],
        deadline: Instant,
    ) -> Vec<Result<(), EnqueueError>> {
        send::enqueue(self, stream, messages, Some(deadline)).await
    }

    async fn enqueue_after(
        &self,
        stream: &StreamName,
        message: &Message,
        delay: Duration,
    ) -> Result<(), EnqueueError> {
        send::enqueue_after(self, stream, message, delay).await
    }
}

/// Durations are sent in whole seconds, rounded up: a wait of at most 20 s, a visibility of at most
/// 12 hours. A receive takes at most 10 messages, whatever `max` says.
#[async_trait]
impl Consumer for SqsQueue {
    async fn receive(
        &self,
        stream: &StreamName,
        max: usize,
        visibility: Duration,
        wait: Duration,
    ) -> Result<Vec<Delivery>, QueueError> {
        receive::receive(self, stream, max, visibility, wait).await
    }

    async fn extend(
        &self,
        stream: &StreamName,
        leases: &[Lease],
        visibility: Duration,
    ) -> Vec<Result<(), QueueError>> {
        let handles: Vec<&str> = leases.iter().map(Lease::handle).collect();
        settle::change_visibility(self, &self.urls.main(stream), &handles, visibility).await
    }

    async fn ack(&self, stream: &StreamName, receipts: Vec<Receipt>) -> Vec<Result<(), Unsettled>> {
        let handles = settle::handles(&receipts);
        let outcomes = settle::delete(self, &self.urls.main(stream), &handles).await;
        settle::pair(receipts, outcomes)
    }

    async fn release(
        &self,
        stream: &StreamName,
        receipts: Vec<Receipt>,
        delay: Duration,
    ) -> Vec<Result<(), Unsettled>> {
        let handles = settle::handles(&receipts);
        let outcomes = settle::change_visibility(self, &self.urls.main(stream), &handles, delay).await;
        settle::pair(receipts, outcomes)
    }

    async fn dead_letter(&self, delivery: Delivery, reason: &str, attempts: u32) -> Result<(), Unsettled> {
        dead::bury(self, delivery, reason, attempts).await
    }

    async fn dead_letters(&self, stream: &StreamName, limit: usize) -> Result<DeadLetterPage, QueueError> {
        dead::list(self, stream, limit).await
    }

    async fn requeue(
        &self,
        stream: &StreamName,
        choose: &Choice<'_>,
        limit: usize,
    ) -> Result<Requeued, QueueError> {
        let count = chosen::take(self, stream, choose, limit, Then::BackToTheQueue).await?;
        Ok(Requeued { count, complete: false })
    }

    async fn discard(
        &self,
        stream: &StreamName,
        choose: &Choice<'_>,
        limit: usize,
    ) -> Result<Discarded, QueueError> {
        let count = chosen::take(self, stream, choose, limit, Then::Gone).await?;
        Ok(Discarded { count, complete: false })
    }

    async fn put_dead_letter(&self, stream: &StreamName, message: &Message) -> Result<(), QueueError> {
        dead::put(self, stream, message).await
    }

    async fn redrive(&self, stream: &StreamName) -> Result<Redrive, QueueError> {
        redrive::redrive(self, stream).await
    }

    async fn counts(&self, stream: &StreamName) -> Result<QueueCounts, QueueError> {
        attributes::counts(self, stream).await
    }
}

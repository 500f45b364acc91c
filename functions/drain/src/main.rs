//! The drain Lambda, two hosts of one core: an SQS event source hands it messages, and anything else
//! that wakes it (the schedule, a nudge, a hand) asks for one bounded pass over every stream.
//!
//! A pass answers with its report; a stream's fault is logged and shows as `empty: false`, never as
//! the invocation's error: an error would make Lambda run the pass again beside the schedule. An
//! event source is answered with the messages that must come again; the nudge queue's messages are no
//! events, they ask for a pass.

mod metrics;
mod nudge;
mod records;
mod settings;

use std::sync::Arc;
use std::time::Duration;

use eventlane_aws::{DynamoArchive, DynamoLedger, SqsQueue, Timeouts, sdk_config};
use eventlane_consumer::{Deduplicated, EventConsumer, Handler};
use eventlane_contracts::{Clock, SystemClock};
use eventlane_lane::ArchiveHandler;
use lambda_runtime::{Context, Error, LambdaEvent, service_fn};
use metrics::DrainMetrics;
use records::{BatchResponse, SqsEvent};
use serde_json::Value;
use settings::Settings;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    eventlane_telemetry::init(eventlane_telemetry::Format::Json, tracing::Level::INFO);
    let clock = Arc::new(SystemClock);
    let settings = Settings::read(|name| std::env::var(name).ok())?;
    let config = sdk_config(Timeouts::default()).await;
    let queue = Arc::new(SqsQueue::new(&config, &settings.queue_url_prefix, clock.clone())?);
    let archive = DynamoArchive::new(&config, &settings.archive_table, clock.clone());
    let mut handler: Arc<dyn Handler> = Arc::new(ArchiveHandler::new(Arc::new(archive)));
    if let Some(table) = &settings.ledger_table {
        let ledger = DynamoLedger::new(&config, table, clock);
        handler = Arc::new(Deduplicated::new(handler, Arc::new(ledger)));
    }
    let mut builder = EventConsumer::builder(Arc::new(eventlane_lane::registry()?), queue.clone())
        .producer(queue)
        .handler_for_the_rest(handler)
        .options(settings.delivery);
    if let Some(streams) = settings.streams {
        builder = builder.streams(streams);
    }
    let consumer = builder.build()?;
    let metrics = DrainMetrics::new(settings.metrics_namespace.as_deref())?;
    let (consumer, metrics, margin) = (&consumer, &metrics, settings.margin);
    let prefix = settings.queue_url_prefix.as_str();
    lambda_runtime::run(service_fn(|event: LambdaEvent<Value>| async move {
        let budget = budget(&event.context, SystemClock.now_us(), margin);
        let answer = work(consumer, event.payload, prefix, budget).await;
        metrics.tell(&consumer.take_tallies(), SystemClock.now_us());
        answer
    }))
    .await
}

/// One invocation, by what woke it: a nudge, an event source, the schedule.
async fn work(
    consumer: &EventConsumer,
    payload: Value,
    prefix: &str,
    budget: Duration,
) -> Result<Value, Error> {
    if let Some(streams) = nudge::streams(&payload) {
        // Whatever becomes of the pass, the nudge has done what it is for.
        match consumer.drain_once(budget).await {
            Ok(report) => tracing::info!(
                target: "eventlane",
                streams,
                delivered = report.delivered,
                dead_lettered = report.dead_lettered,
                empty = report.empty,
                "a nudge's pass"
            ),
            Err(error) => {
                tracing::warn!(target: "eventlane", streams, %error, "a nudge's pass didn't run")
            }
        }
        return Ok(serde_json::to_value(BatchResponse::of(Vec::new()))?);
    }
    if payload.get("Records").is_some() {
        let source: SqsEvent = serde_json::from_value(payload)?;
        return Ok(serde_json::to_value(take(consumer, source, prefix, budget).await?)?);
    }
    Ok(serde_json::to_value(consumer.drain_once(budget).await?)?)
}

/// Works off an event source's messages. One that has to come again and can't be named fails the
/// invocation, since Lambda would delete it: the others are acked or given back by then.
async fn take(
    consumer: &EventConsumer,
    event: SqsEvent,
    prefix: &str,
    budget: Duration,
) -> Result<BatchResponse, Error> {
    let (mut deliveries, mut unfinished, mut nameless) = (Vec::new(), Vec::new(), 0);
    for record in event.records {
        match record.into_delivery(prefix, &SystemClock) {
            (_, Some(delivery)) => deliveries.push(delivery),
            (id, None) if id.is_empty() => nameless += 1,
            (id, None) => unfinished.push(id),
        }
    }
    let told = consumer.deliver_read(deliveries, budget).await?;
    unfinished.extend(told.unfinished);
    nameless += told.nameless;
    if nameless > 0 {
        return Err(format!("{nameless} messages without an id have to come again").into());
    }
    Ok(BatchResponse::of(unfinished))
}

/// What is left of the invocation less the margin for one callback, and at most the default.
fn budget(context: &Context, now_us: i64, margin: Duration) -> Duration {
    let now_ms = u64::try_from(now_us / 1000).unwrap_or(0);
    let left = Duration::from_millis(context.deadline.saturating_sub(now_ms));
    left.saturating_sub(margin).min(EventConsumer::DEFAULT_BUDGET)
}

#[cfg(test)]
mod tests {
    use super::*;

    // D29
    #[test]
    fn the_budget_ends_before_the_deadline_and_is_never_negative() {
        let margin = Duration::from_secs(5);
        let at = |deadline: u64| {
            let mut context = Context::default();
            context.deadline = deadline;
            budget(&context, 1_000_000_000, margin)
        };
        assert_eq!(at(1_060_000), EventConsumer::DEFAULT_BUDGET);
        assert_eq!(at(1_015_000), Duration::from_secs(10));
        assert_eq!(at(1_003_000), Duration::ZERO, "less than the margin is left");
        assert_eq!(at(0), Duration::ZERO, "the deadline is past");
    }
}

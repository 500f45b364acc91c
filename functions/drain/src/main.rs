//! The drain Lambda: one bounded pass an invocation, over every stream, into the archive.
//!
//! Its answer is the pass' report. A stream's fault is logged and shows as `empty: false`, never as
//! the invocation's error: an error would make Lambda run the pass again beside the schedule.

mod settings;

use std::sync::Arc;
use std::time::Duration;

use eventlane_aws::{DynamoArchive, SqsQueue, Timeouts, sdk_config};
use eventlane_consumer::{DrainReport, EventConsumer};
use eventlane_contracts::{Clock, SystemClock};
use eventlane_lane::ArchiveHandler;
use lambda_runtime::{Context, Error, LambdaEvent, service_fn};
use serde::de::IgnoredAny;
use settings::Settings;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    eventlane_telemetry::init(eventlane_telemetry::Format::Json, tracing::Level::INFO);
    let clock = Arc::new(SystemClock);
    let settings = Settings::read(|name| std::env::var(name).ok())?;
    let config = sdk_config(Timeouts::default()).await;
    let queue = SqsQueue::new(&config, &settings.queue_url_prefix, clock.clone())?;
    let archive = DynamoArchive::new(&config, &settings.archive_table, clock);
    let consumer = EventConsumer::builder(Arc::new(eventlane_lane::registry()?), Arc::new(queue))
        .handler_for_the_rest(Arc::new(ArchiveHandler::new(Arc::new(archive))))
        .options(settings.delivery)
        .build()?;
    let (consumer, margin) = (&consumer, settings.margin);
    // What wakes the function doesn't matter: each invocation is one pass over all streams.
    lambda_runtime::run(service_fn(|event: LambdaEvent<IgnoredAny>| async move {
        let budget = budget(&event.context, SystemClock.now_us(), margin);
        Ok::<DrainReport, Error>(consumer.drain_once(budget).await?)
    }))
    .await
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

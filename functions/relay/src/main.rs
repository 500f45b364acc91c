//! The relay Lambda: on its schedule one bounded pass over the outbox of a service's database.
//!
//! It answers with its report. A database that can't be reached is the invocation's error: the
//! schedule comes again, and the alarm on errors says so. Set the retries of asynchronous invocations
//! to 0; the next pass is the retry.

mod secret;
mod settings;

use std::sync::Arc;
use std::time::Duration;

use eventlane_aws::{SqsQueue, Timeouts, sdk_config};
use eventlane_contracts::{Clock, SystemClock};
use eventlane_relay::{Dispatcher, LanePublisher, LaneTopics, connect};
use lambda_runtime::{Context, Error, LambdaEvent, service_fn};
use serde_json::Value;
use settings::Settings;

/// Longest pass: a schedule of a minute never overlaps with itself.
const BUDGET: Duration = Duration::from_secs(50);

/// Connections to the database: one statement runs at a time.
const CONNECTIONS: u32 = 2;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    eventlane_telemetry::init(eventlane_telemetry::Format::Json, tracing::Level::INFO);
    let variable = |name: &str| std::env::var(name).ok();
    let settings = Settings::read(variable)?;
    let url = match &settings.secret_id {
        Some(id) => secret::read(id, variable)?.into_url(&settings.url)?,
        None => settings.url,
    };
    let config = sdk_config(Timeouts::default()).await;
    let queue = SqsQueue::new(&config, &settings.queue_url_prefix, Arc::new(SystemClock))?;
    let registry = Arc::new(eventlane_lane::registry()?);
    let topics = match settings.topics {
        Some(topics) => LaneTopics::mapped(registry, topics)?,
        None => LaneTopics::of_streams(registry),
    };
    let publisher = LanePublisher::new(Arc::new(topics), Arc::new(queue));
    let driver = connect(&url, CONNECTIONS, settings.pooler_safe)?;
    let dispatcher = Dispatcher::builder(driver, Arc::new(publisher)).options(settings.options).build()?;
    let (dispatcher, margin) = (&dispatcher, settings.margin);
    lambda_runtime::run(service_fn(|event: LambdaEvent<Value>| async move {
        let report = dispatcher.run_for(budget(&event.context, SystemClock.now_us(), margin)).await?;
        let metrics = dispatcher.metrics().await?;
        tracing::info!(
            target: "eventlane",
            pending = metrics.pending,
            oldest_pending_seconds = metrics.oldest_pending_age.map_or(0, |age| age.as_secs()),
            dead = metrics.dead,
            published = report.delivered,
            failed = report.failed,
            lost = report.lost,
            "relay pass"
        );
        Ok::<Value, Error>(serde_json::to_value(report)?)
    }))
    .await
}

/// What is left of the invocation less the margin for one publish.
fn budget(context: &Context, now_us: i64, margin: Duration) -> Duration {
    let now_ms = u64::try_from(now_us / 1000).unwrap_or(0);
    Duration::from_millis(context.deadline.saturating_sub(now_ms)).saturating_sub(margin).min(BUDGET)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_budget_ends_before_the_deadline_and_is_never_negative() {
        let at = |deadline: u64| {
            let mut context = Context::default();
            context.deadline = deadline;
            budget(&context, 1_000_000_000, Duration::from_secs(5))
        };
        assert_eq!(at(1_900_000), BUDGET);
        assert_eq!(at(1_015_000), Duration::from_secs(10));
        assert_eq!(at(1_003_000), Duration::ZERO);
        assert_eq!(at(0), Duration::ZERO);
    }
}

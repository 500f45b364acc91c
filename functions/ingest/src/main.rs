//! The ingest Lambda: settings from the environment, the door of `eventlane-ingest`, SQS behind it.

mod gateway;
mod settings;

use std::sync::Arc;

use eventlane_aws::{SqsQueue, Timeouts, sdk_config};
use eventlane_contracts::SystemClock;
use eventlane_ingest::{Ingest, router};
use eventlane_lane::ConsentGate;
use lambda_http::Error;
use settings::Settings;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    eventlane_telemetry::init(eventlane_telemetry::Format::Json, tracing::Level::INFO);
    let clock = Arc::new(SystemClock);
    let registry = Arc::new(eventlane_lane::registry()?);
    let settings = Settings::read(|name| std::env::var(name).ok(), &registry, clock.clone())?;
    // Within the start, so that no request waits for it; where it fails, a request tries again.
    settings.tokens.load_keys().await;
    let config = sdk_config(Timeouts::default()).await;
    let ingest = Ingest {
        registry,
        producer: Arc::new(SqsQueue::new(&config, &settings.queue_url_prefix, clock)?),
        gate: Arc::new(ConsentGate),
        tokens: settings.tokens,
    };
    let mut router = router(Arc::new(ingest));
    if let Some(cors) = settings.cors {
        router = cors.around(router);
    }
    gateway::run(router, settings.base_path).await
}

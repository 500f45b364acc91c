//! The ingest Lambda: settings from the environment, the door of `eventlane-ingest`, SQS behind it.

mod context;
mod gateway;
mod metrics;
mod settings;
mod wiring;

use std::sync::Arc;

use eventlane_aws::{SqsQueue, Timeouts, sdk_config};
use eventlane_contracts::{Clock, SystemClock};
use eventlane_ingest::{Ingest, router};
use lambda_http::Error;
use settings::Settings;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    eventlane_telemetry::init(eventlane_telemetry::Format::Json, tracing::Level::INFO);
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let registry = Arc::new(eventlane_lane::registry()?);
    let settings = Settings::read(|name| std::env::var(name).ok(), &registry, clock.clone())?;
    // Within the start, so that no request waits for it; where it fails, a request tries again.
    settings.tokens.load_keys().await;
    let config = sdk_config(Timeouts::default()).await;
    let queue = SqsQueue::new(&config, &settings.queue_url_prefix, clock.clone())?;
    let ingest = Ingest {
        registry,
        gate: wiring::gate(&settings.gate, &config),
        options: wiring::options(settings.gate, &queue, &clock)?,
        producer: Arc::new(queue),
        tokens: settings.tokens,
    };
    let mut router = router(Arc::new(ingest));
    if let Some(cors) = settings.cors {
        router = cors.around(router);
    }
    gateway::run(context::told(router), settings.base_path).await
}

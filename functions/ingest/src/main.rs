//! The ingest Lambda: settings from the environment, the door of `eventlane-ingest`, SQS behind it.

mod context;
mod metrics;
mod settings;
mod wiring;

use std::sync::Arc;

use eventlane_aws::{SqsQueue, Timeouts, sdk_config};
use eventlane_contracts::{Clock, SystemClock};
use eventlane_ingest::{Ingest, router};
use lambda_http::Error;
use settings::Settings;
use settings::gate::GateSettings;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    eventlane_telemetry::init(eventlane_telemetry::Format::Json, tracing::Level::INFO);
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let settings = Settings::read(|name| std::env::var(name).ok())?;
    let gate_settings = GateSettings::read(|name| std::env::var(name).ok())?;
    let config = sdk_config(Timeouts::default()).await;
    let queue = SqsQueue::new(&config, &settings.queue_url_prefix, clock.clone())?;
    let ingest = Ingest {
        registry: Arc::new(eventlane_lane::registry()?),
        gate: wiring::gate(&gate_settings, &config),
        options: wiring::options(gate_settings, &queue, &clock)?,
        producer: Arc::new(queue),
        tokens: settings.tokens.verifier(clock)?,
    };
    lambda_http::run(context::told(router(Arc::new(ingest)))).await
}

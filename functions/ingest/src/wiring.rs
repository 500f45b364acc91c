//! What stands between the check and the queue, from its settings. Nothing is asked here.

use std::sync::Arc;

use anyhow::Result;
use aws_config::SdkConfig;
use eventlane_aws::{DynamoConsent, SqsNudge, SqsQueue};
use eventlane_contracts::Clock;
use eventlane_ingest::{Gate, IngestOptions, Nudges, RateLimit};

use crate::metrics::RequestMetrics;
use crate::settings::gate::GateSettings;

/// The lane's gate, before the consent table's where there is one.
pub(crate) fn gate(settings: &GateSettings, config: &SdkConfig) -> Arc<dyn Gate> {
    eventlane_lane::gate(settings.consent.as_ref().map(|consent| {
        let gate = DynamoConsent::new(config, &consent.table)
            .with_claim(consent.claim.clone())
            .with_default(consent.default);
        Arc::new(gate) as Arc<dyn Gate>
    }))
}

/// What is optional at the door.
pub(crate) fn options(
    settings: GateSettings,
    queue: &SqsQueue,
    clock: &Arc<dyn Clock>,
) -> Result<IngestOptions> {
    let rate_limit = settings.rate.map(|rate| RateLimit::new(rate, Arc::clone(clock))).transpose()?;
    let nudge = settings.nudge_queue_url.map(|url| SqsNudge::new(queue.clone(), &url)).transpose()?;
    let metrics = settings.metrics_namespace.map(|name| RequestMetrics::new(&name, Arc::clone(clock)));
    Ok(IngestOptions {
        gate_timeout: settings.timeout,
        rate_limit,
        nudges: nudge.map(|nudge| Nudges::new(Arc::new(nudge), Arc::clone(clock))),
        observer: metrics.transpose()?.map(|metrics| Arc::new(metrics) as _),
        ..IngestOptions::default()
    })
}

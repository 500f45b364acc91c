//! `drain`: a process that drains a data folder's queues until they hold nothing.

use std::path::PathBuf;
use std::time::Duration;

use eventlane_consumer::{DeliveryOptions, RetryPace};

use crate::folder::DataFolder;
use crate::hooks::Faults;
use crate::local_lane::LocalLane;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// The lane's data folder
    #[arg(long)]
    data: PathBuf,
    /// Attempts before a sub-batch is dead-lettered
    #[arg(long, default_value_t = 2)]
    max_attempts: u32,
    #[command(flatten)]
    faults: Faults,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let folder = DataFolder::create(&options.data)?;
    let lane = LocalLane::open(&folder)?;
    // Short leases and no backoff: what a killed process held comes back while someone watches.
    let delivery = DeliveryOptions {
        visibility: Duration::from_secs(1),
        retry: RetryPace::Lapse,
        max_attempts: options.max_attempts,
        ..DeliveryOptions::default()
    };
    let consumer = lane.consumer(&folder, delivery, options.faults.clone())?;
    crate::runtime()?.block_on(async {
        while !lane.is_drained().await? {
            let report = consumer.drain_once(Duration::from_secs(2)).await?;
            if report.delivered + report.dead_lettered == 0 && !report.empty {
                anyhow::bail!("the queues in {} can't be read", options.data.display());
            }
        }
        Ok(())
    })
}

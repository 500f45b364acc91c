//! One worker of the soak: passes or a runner, until it is killed.

use std::sync::Arc;
use std::time::Duration;

use eventlane_consumer::{DeliveryOptions, EventConsumer, RetryPace, SqliteArchive};
use eventlane_contracts::{Stream, SystemClock};

use super::Plan;
use super::handler::SoakHandler;
use crate::hooks::say;

#[derive(clap::Args)]
pub(crate) struct Options {
    #[command(flatten)]
    plan: Plan,
    /// How it delivers
    #[arg(long)]
    host: Host,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Host {
    Drain,
    Runner,
}

pub(super) async fn run(options: &Options) -> anyhow::Result<()> {
    let registry = Plan::registry()?;
    let queue = Arc::new(options.plan.queue(&registry)?);
    let archive = SqliteArchive::open(&options.plan.data.join("archive.db"), Arc::new(SystemClock))?;
    let delivery = DeliveryOptions {
        visibility: Duration::from_secs(2),
        retry: RetryPace::Lapse,
        halve: true,
        poll_floor: Duration::from_millis(50),
        poll_ceiling: Duration::from_millis(250),
        ..DeliveryOptions::default()
    };
    let mut builder = EventConsumer::builder(Arc::clone(&registry), queue.clone()).producer(queue);
    for (at, stream) in registry.streams().map(Stream::name).enumerate() {
        let (archive, max_attempts) = (archive.clone(), delivery.max_attempts);
        let handler = SoakHandler { archive, seed: options.plan.seed, max_attempts, names: at % 2 == 0 };
        builder = builder.handler(stream.as_str(), Arc::new(handler));
    }
    let consumer = builder.options(delivery).build()?;
    say("working")?;
    if options.host == Host::Runner {
        consumer.start()?;
        std::future::pending::<()>().await;
    }
    loop {
        consumer.drain_once(Duration::from_secs(2)).await?;
    }
}

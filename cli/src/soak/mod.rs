//! The soak: a lane of eight streams whose drains and runner are killed again and again. The killing
//! is `cargo xtask soak delivery`'s; here are the parts it starts.

mod account;
mod fill;
mod handler;
mod work;

use std::path::PathBuf;
use std::sync::Arc;

use clap::Subcommand;
use eventlane_contracts::{Registry, Stream, SystemClock};
use eventlane_queue::EmbeddedQueue;

/// Streams of the lane.
const STREAMS: usize = 8;

/// One event in this many is poison: its handler always fails.
const POISON_EVERY: u64 = 1_000;

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Enqueue the events
    Fill(Plan),
    /// Deliver until killed
    Work(work::Options),
    /// Print how many messages the queues still hold
    Left(Plan),
    /// Print where every event is, as one line of JSON
    Account(Plan),
}

/// Which events there are.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Plan {
    /// The lane's folder
    #[arg(long)]
    data: PathBuf,
    /// How many events
    #[arg(long, default_value_t = 100_000)]
    events: u64,
    /// What the events' ids and the handlers' failures follow from
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

pub(crate) fn run(command: &Command) -> anyhow::Result<()> {
    let runtime = crate::runtime()?;
    runtime.block_on(async {
        match command {
            Command::Fill(plan) => fill::run(plan).await,
            Command::Work(options) => work::run(options).await,
            Command::Left(plan) => account::left(plan).await,
            Command::Account(plan) => account::run(plan).await,
        }
    })
}

impl Plan {
    fn registry() -> anyhow::Result<Arc<Registry>> {
        let schema = serde_json::json!({"type": "integer"});
        let streams = (0..STREAMS).map(|n| Stream::json_schema(&format!("soak_{n}"), schema.clone()));
        Ok(Arc::new(Registry::define(streams)?))
    }

    fn queue(&self, registry: &Registry) -> anyhow::Result<EmbeddedQueue> {
        let names = registry.streams().map(Stream::name);
        Ok(EmbeddedQueue::open(&self.data.join("queue.db"), names, Arc::new(SystemClock))?)
    }

    /// The nth event's id.
    fn event_id(&self, number: u64) -> String {
        uuid::Uuid::from_u64_pair(self.seed, number).to_string()
    }
}

fn is_poison(number: u64) -> bool {
    number % POISON_EVERY == 7
}

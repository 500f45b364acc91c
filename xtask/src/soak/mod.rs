//! `cargo xtask soak`: proofs that take long and are no part of `test`.

mod delivery;
mod judge;
mod memory;
mod outbox;
mod relay;

use clap::Subcommand;

use crate::project::Project;

#[derive(Debug, Subcommand)]
pub(crate) enum Soak {
    /// Two drains and a runner, killed at random over many events: none lost, none archived twice.
    Delivery(delivery::Options),
    /// Schema pairs and payloads made up for minutes: the judge is never wrong about one.
    Judge(judge::Options),
    /// A running ingest under 64 requests of 4 MiB at once: its resident memory.
    Memory,
    /// Batches out of a million rows against batches out of a thousand: in time and memory.
    Outbox,
    /// Eight dispatchers on one table of PostgreSQL, MariaDB and SQLite: every row, no lease shared.
    Relay(relay::Options),
}

pub(crate) fn run(project: &Project, soak: &Soak) -> anyhow::Result<()> {
    match soak {
        Soak::Delivery(options) => delivery::run(project, options),
        Soak::Judge(options) => judge::run(project, options),
        Soak::Memory => memory::run(project),
        Soak::Outbox => outbox::run(project),
        Soak::Relay(options) => relay::run(project, options),
    }
}

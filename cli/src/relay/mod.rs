//! `relay`: the transactional outbox of a service's database.

mod dead;
mod migrate;
mod run;
mod status;

use std::sync::Arc;

use clap::Subcommand;
use eventlane_relay::{Driver, connect};

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Make the outbox table, take it away again, or print a dialect's statements
    Migrate(migrate::Options),
    /// What is pending and dead, and how long the oldest pending row has waited
    Status(status::Options),
    /// Dead rows: look at them, make them pending again
    #[command(subcommand)]
    Dead(dead::Command),
    /// Publish rows to the lane's queues until told to stop
    Run(run::Options),
}

/// The service's database.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Database {
    /// postgres://…, mysql://… (MariaDB too) or sqlite:FILE
    #[arg(long, env = "EVENTLANE_RELAY_URL", hide_env_values = true)]
    url: String,
    /// PostgreSQL behind a pooler of transactions (pgbouncer, RDS Proxy)
    #[arg(long)]
    pooler_safe: bool,
}

/// Connections of one command.
const CONNECTIONS: u32 = 2;

impl Database {
    fn open(&self) -> anyhow::Result<Arc<dyn Driver>> {
        Ok(connect(&self.url, CONNECTIONS, self.pooler_safe)?)
    }
}

pub(crate) fn run(command: &Command) -> anyhow::Result<()> {
    crate::runtime()?.block_on(async {
        match command {
            Command::Migrate(options) => migrate::run(options).await,
            Command::Status(options) => status::run(options).await,
            Command::Dead(dead::Command::List(options)) => dead::list(options).await,
            Command::Dead(dead::Command::Replay(options)) => dead::replay(options).await,
            Command::Run(options) => run::run(options).await,
        }
    })
}

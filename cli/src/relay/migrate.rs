//! `relay migrate`.

use anyhow::bail;
use eventlane_relay::{Dialect, OutboxTable, connect};

use crate::hooks::say;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// postgres://…, mysql://… (MariaDB too) or sqlite:FILE
    #[arg(long, env = "EVENTLANE_RELAY_URL", hide_env_values = true, required_unless_present = "print")]
    url: Option<String>,
    /// PostgreSQL behind a pooler of transactions (pgbouncer, RDS Proxy)
    #[arg(long)]
    pooler_safe: bool,
    /// Drop the table instead; a dry run without --yes
    #[arg(long)]
    down: bool,
    /// Do it; without this a --down is only told
    #[arg(long)]
    yes: bool,
    /// Drop it even with rows that were never published
    #[arg(long, requires = "down")]
    force: bool,
    /// Print the statements of a dialect and ask no database: postgres, cockroach, mysql, singlestore,
    /// sqlite, sqlserver
    #[arg(long, value_name = "DIALECT")]
    print: Option<Dialect>,
}

pub(super) async fn run(options: &Options) -> anyhow::Result<()> {
    if let Some(dialect) = options.print {
        let words = dialect.statements();
        for statement in if options.down { words.down } else { words.up } {
            say(&format!("{statement};"))?;
        }
        return Ok(());
    }
    let Some(url) = &options.url else { bail!("say which database: --url") };
    let table = OutboxTable::new(connect(url, super::CONNECTIONS, options.pooler_safe)?);
    if !options.down {
        table.migrate().await?;
        return say("the outbox table is there");
    }
    let counts = table.counts().await?;
    let held = format!("{} pending and {} dead rows", counts.pending, counts.dead);
    if !options.yes {
        return say(&format!("would drop the outbox table with {held}; --yes does it"));
    }
    table.unmigrate(options.force).await?;
    say(&format!("dropped the outbox table with {held}"))
}

//! `relay dead`: rows that were given up.

use anyhow::bail;
use clap::Subcommand;
use eventlane_contracts::{Clock, SystemClock};
use eventlane_relay::{DeadEntry, OutboxTable};
use serde_json::{Value, json};

use super::Database;
use crate::age;
use crate::hooks::say;

#[derive(Subcommand)]
pub(crate) enum Command {
    /// List dead rows, oldest first, without their payloads
    List(List),
    /// Make the named dead rows pending, as if never tried; a dry run without --yes
    Replay(Replay),
}

#[derive(clap::Args)]
pub(crate) struct List {
    #[command(flatten)]
    database: Database,
    /// Of this topic
    #[arg(long)]
    topic: Option<String>,
    /// Rows shown at most
    #[arg(long, default_value_t = 100)]
    limit: u32,
    /// Print one line of JSON a row
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
pub(crate) struct Replay {
    #[command(flatten)]
    database: Database,
    /// The rows' ids, as `relay dead list` prints them
    #[arg(required = true)]
    ids: Vec<String>,
    /// Do it; without this it is only told
    #[arg(long)]
    yes: bool,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn list(options: &List) -> anyhow::Result<()> {
    let table = OutboxTable::new(options.database.open()?);
    let rows = table.dead(options.topic.as_deref(), options.limit).await?;
    let now_us = SystemClock.now_us();
    for row in &rows {
        say(&if options.json { as_json(row).to_string() } else { line(row, now_us) })?;
    }
    if !options.json {
        let all = table.counts().await?.dead;
        say(&format!("{} of {all} dead rows", rows.len()))?;
    }
    Ok(())
}

pub(super) async fn replay(options: &Replay) -> anyhow::Result<()> {
    let table = OutboxTable::new(options.database.open()?);
    let (mut count, mut unknown) = (0, Vec::new());
    for id in &options.ids {
        let known = match options.yes {
            true => table.replay(id).await?,
            false => table.dead_one(id).await?.is_some(),
        };
        if known {
            count += 1;
        } else {
            unknown.push(id.as_str());
        }
    }
    say(&if options.json {
        json!({"act": "replay", "dry_run": !options.yes, "count": count, "not_dead": unknown}).to_string()
    } else if options.yes {
        format!("replayed {count} dead rows")
    } else {
        format!("would replay {count} dead rows; --yes does it")
    })?;
    if !unknown.is_empty() {
        bail!("no dead row is named {}", unknown.join(", "));
    }
    Ok(())
}

fn as_json(row: &DeadEntry) -> Value {
    json!({
        "id": row.id, "topic": row.topic, "attempts": row.attempts, "created_at_us": row.created_at_us,
        "last_error": row.last_error, "payload_chars": row.payload_chars,
    })
}

fn line(row: &DeadEntry, now_us: i64) -> String {
    let age = u64::try_from(now_us.saturating_sub(row.created_at_us)).unwrap_or(0);
    let age = age::show(std::time::Duration::from_micros(age));
    // One line, whatever a publisher's error held.
    let error = row.last_error.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("{} {:?} written {age} ago, {} attempts: {error}", row.id, row.topic, row.attempts)
}

//! `relay status`.

use eventlane_relay::OutboxTable;
use serde_json::json;

use super::Database;
use crate::age;
use crate::hooks::say;

#[derive(clap::Args)]
pub(crate) struct Options {
    #[command(flatten)]
    database: Database,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(options: &Options) -> anyhow::Result<()> {
    let counts = OutboxTable::new(options.database.open()?).counts().await?;
    if options.json {
        let oldest = counts.oldest_pending_age.map(|age| age.as_secs());
        let value = json!({
            "pending": counts.pending, "oldest_pending_age_seconds": oldest, "dead": counts.dead,
        });
        return say(&value.to_string());
    }
    let oldest = counts.oldest_pending_age.map_or_else(|| "-".to_owned(), age::show);
    say(&format!("pending {}, oldest {oldest}, dead {}", counts.pending, counts.dead))
}

//! `status`: what waits, what is at work, what is dead, per stream.

use serde_json::json;

use crate::age;
use crate::backend::Backend;
use crate::hooks::say;

#[derive(clap::Args)]
pub(crate) struct Options {
    #[command(flatten)]
    backend: Backend,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    crate::runtime()?.block_on(async {
        let queues = options.backend.open(&[]).await?;
        let mut rows = Vec::new();
        for stream in &queues.streams {
            rows.push((stream, queues.queue.counts(stream).await?));
        }
        if options.json {
            let rows: Vec<_> = rows
                .iter()
                .map(|(stream, counts)| {
                    json!({
                        "stream": stream.as_str(),
                        "waiting": counts.waiting,
                        "in_flight": counts.in_flight,
                        "oldest_age_seconds": counts.oldest_age.map(|age| age.as_secs()),
                        "dead_letters": counts.dead_letters,
                    })
                })
                .collect();
            say(&json!({ "streams": rows }).to_string())?;
            return Ok(());
        }
        say(&format!("{:<30} {:>9} {:>9} {:>7} {:>9}", "stream", "waiting", "in flight", "oldest", "dead"))?;
        for (stream, counts) in rows {
            let oldest = counts.oldest_age.map_or_else(|| "-".to_owned(), age::show);
            say(&format!(
                "{:<30} {:>9} {:>9} {oldest:>7} {:>9}",
                stream.as_str(),
                counts.waiting,
                counts.in_flight,
                counts.dead_letters
            ))?;
        }
        Ok(())
    })
}

//! `dlq list` and `dlq show`.

use anyhow::bail;
use eventlane_contracts::{Clock, StreamName, SystemClock};
use eventlane_queue::DeadLetter;
use serde_json::{Value, json};

use super::filter::{Filter, age_of, event_ids};
use crate::age;
use crate::backend::Backend;
use crate::hooks::say;

/// Letters of one stream that a command looks through.
pub(super) const MOST: usize = 100_000;

#[derive(clap::Args)]
pub(crate) struct Options {
    #[command(flatten)]
    backend: Backend,
    #[command(flatten)]
    filter: Filter,
    /// Letters shown at most
    #[arg(long, default_value_t = 100)]
    limit: usize,
    /// Print one line of JSON a letter
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
pub(crate) struct Show {
    #[command(flatten)]
    backend: Backend,
    /// The letter's id, as `dlq list` prints it
    id: String,
    /// Print the body too, which holds what users sent
    #[arg(long)]
    body: bool,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn list(options: &Options) -> anyhow::Result<()> {
    let queues = options.backend.open(&options.filter.stream).await?;
    let now_us = SystemClock.now_us();
    let (mut shown, mut complete) = (0, true);
    for stream in &queues.streams {
        let page = queues.queue.dead_letters(stream, MOST).await?;
        complete &= page.complete;
        for letter in page.letters.iter().filter(|letter| options.filter.means(letter, now_us)) {
            if shown == options.limit {
                complete = false;
                break;
            }
            shown += 1;
            say(&if options.json {
                as_json(stream, letter).to_string()
            } else {
                line(stream, letter, now_us)
            })?;
        }
    }
    if !options.json {
        let at_least = if complete { "" } else { "at least " };
        say(&format!("{at_least}{shown} dead letters"))?;
    }
    Ok(())
}

pub(super) async fn show(options: &Show) -> anyhow::Result<()> {
    let queues = options.backend.open(&[]).await?;
    for stream in &queues.streams {
        let page = queues.queue.dead_letters(stream, MOST).await?;
        let Some(letter) = page.letters.iter().find(|letter| letter.id == options.id) else { continue };
        let mut value = as_json(stream, letter);
        value["events"] = event_ids(&letter.body).into();
        if options.body {
            value["body"] = letter.body.clone().into();
        }
        say(&if options.json { value.to_string() } else { serde_json::to_string_pretty(&value)? })?;
        return Ok(());
    }
    bail!("no dead letter {} was found", options.id)
}

fn as_json(stream: &StreamName, letter: &DeadLetter) -> Value {
    json!({
        "id": letter.id,
        "stream": stream.as_str(),
        "reason": letter.reason,
        "attempts": letter.attempts,
        "first_received_us": letter.first_received_us,
        "dead_lettered_us": letter.dead_lettered_us,
        "events": event_ids(&letter.body).len(),
        "bytes": letter.body.len(),
    })
}

fn line(stream: &StreamName, letter: &DeadLetter, now_us: i64) -> String {
    let age = letter.dead_lettered_us.map_or("-".to_owned(), |at| age::show(age_of(at, now_us)));
    let attempts = letter.attempts.map_or("-".to_owned(), |attempts| attempts.to_string());
    let events = event_ids(&letter.body).len();
    // One line, whatever a handler's error held.
    let reason = letter.reason.as_deref().unwrap_or("moved by the queue");
    let reason = reason.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("{} {stream} {age} ago, {attempts} attempts, {events} events: {reason}", letter.id)
}

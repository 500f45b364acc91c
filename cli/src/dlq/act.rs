//! `dlq requeue` and `dlq discard`: they say what they would do, and do it with `--yes`.

use anyhow::bail;
use eventlane_contracts::{Clock, SystemClock};
use eventlane_queue::{DeadLetter, Redrive};
use serde_json::json;

use super::filter::Filter;
use super::list::MOST;
use crate::backend::{Backend, Queues};
use crate::hooks::say;

#[derive(clap::Args)]
pub(crate) struct Options {
    #[command(flatten)]
    backend: Backend,
    #[command(flatten)]
    filter: Filter,
    /// All of the streams' dead letters, where no other filter narrows the choice
    #[arg(long)]
    all: bool,
    /// Letters of each stream at most
    #[arg(long)]
    limit: Option<usize>,
    /// Do it; without this it is only told
    #[arg(long)]
    yes: bool,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

/// What was done to a stream's letters.
struct Done {
    count: usize,
    complete: bool,
    /// The service moves them by itself, in its own time.
    by_the_queue: bool,
}

pub(super) async fn requeue(options: &Options) -> anyhow::Result<()> {
    let queues = open(options).await?;
    let whole = options.filter.is_whole_queue() && options.limit.is_none();
    let mut total = Done { count: 0, complete: true, by_the_queue: false };
    for stream in &queues.streams {
        if !options.yes {
            dry(options, &queues, stream, &mut total).await?;
            continue;
        }
        if whole && queues.queue.redrive(stream).await? == Redrive::Started {
            total.by_the_queue = true;
            continue;
        }
        let now_us = SystemClock.now_us();
        let means = |letter: &DeadLetter| options.filter.means(letter, now_us);
        let done = queues.queue.requeue(stream, &means, options.limit.unwrap_or(MOST)).await?;
        total.count += done.count;
        total.complete &= done.complete;
    }
    tell(options, "requeue", "requeued", &total)
}

pub(super) async fn discard(options: &Options) -> anyhow::Result<()> {
    let queues = open(options).await?;
    let mut total = Done { count: 0, complete: true, by_the_queue: false };
    for stream in &queues.streams {
        if !options.yes {
            dry(options, &queues, stream, &mut total).await?;
            continue;
        }
        let now_us = SystemClock.now_us();
        let means = |letter: &DeadLetter| options.filter.means(letter, now_us);
        let done = queues.queue.discard(stream, &means, options.limit.unwrap_or(MOST)).await?;
        total.count += done.count;
        total.complete &= done.complete;
    }
    tell(options, "discard", "discarded", &total)
}

async fn open(options: &Options) -> anyhow::Result<Queues> {
    if options.filter.is_whole_queue() && !options.all {
        bail!("say which dead letters: --id, --event, --reason, --older-than, --newer-than, or --all");
    }
    options.backend.open(&options.filter.stream).await
}

/// Counts what is meant and touches nothing.
async fn dry(
    options: &Options,
    queues: &Queues,
    stream: &eventlane_contracts::StreamName,
    total: &mut Done,
) -> anyhow::Result<()> {
    let now_us = SystemClock.now_us();
    let page = queues.queue.dead_letters(stream, MOST).await?;
    let meant = page.letters.iter().filter(|letter| options.filter.means(letter, now_us)).count();
    total.count += meant.min(options.limit.unwrap_or(MOST));
    total.complete &= page.complete;
    Ok(())
}

fn tell(options: &Options, act: &str, acted: &str, done: &Done) -> anyhow::Result<()> {
    if options.json {
        let value = json!({
            "act": act, "dry_run": !options.yes, "count": done.count, "complete": done.complete,
            "moved_by_the_queue": done.by_the_queue,
        });
        return say(&value.to_string());
    }
    if done.by_the_queue {
        return say(
            "the queue service moves the dead letters back by itself; `eventlane status` shows how far",
        );
    }
    let count = done.count;
    let at_least = if done.complete { "" } else { "at least " };
    say(&if options.yes {
        format!("{acted} {count} dead letters")
    } else {
        format!("would {act} {at_least}{count} dead letters; --yes does it")
    })
}

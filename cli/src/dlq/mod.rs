//! `dlq`: dead letters, looked at, put back or thrown away.

mod act;
mod filter;
mod list;

use clap::Subcommand;

#[derive(Subcommand)]
pub(crate) enum Command {
    /// List dead letters and leave them where they are
    List(list::Options),
    /// Show one dead letter: its story and the ids of its events
    Show(list::Show),
    /// Put chosen dead letters back on their queues, with no attempt spent; a dry run without --yes
    Requeue(act::Options),
    /// Delete chosen dead letters for good; a dry run without --yes
    Discard(act::Options),
}

pub(crate) fn run(command: &Command) -> anyhow::Result<()> {
    crate::runtime()?.block_on(async {
        match command {
            Command::List(options) => list::list(options).await,
            Command::Show(options) => list::show(options).await,
            Command::Requeue(options) => act::requeue(options).await,
            Command::Discard(options) => act::discard(options).await,
        }
    })
}

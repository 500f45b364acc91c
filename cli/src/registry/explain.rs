//! `registry explain`: a stream's contract for people.

use anyhow::bail;
use eventlane_contracts::Registry;
use eventlane_contracts::evolution::explain;

use super::names;
use crate::hooks::say;

#[derive(clap::Args)]
pub(super) struct Options {
    /// The stream; all of them when left out
    stream: Option<String>,
}

pub(super) fn run(options: &Options, registry: &Registry) -> anyhow::Result<()> {
    let texts: Vec<String> = match &options.stream {
        None => registry.streams().map(explain).collect(),
        Some(name) => match registry.stream(name) {
            Some(stream) => vec![explain(stream)],
            None => bail!("there is no stream {name:?}; known: {}", names(registry)),
        },
    };
    say(texts.join("\n").trim_end())?;
    Ok(())
}

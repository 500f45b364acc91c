//! `registry check`: for CI, and before a commit.

use anyhow::Context;
use eventlane_contracts::Registry;
use eventlane_contracts::evolution::{Check, Outcome};

use super::{Found, LockFile, source};
use crate::hooks::say;

#[derive(clap::Args)]
pub(super) struct Options {
    #[command(flatten)]
    lock: LockFile,
    /// An older lock: a file, or git:REF for the lock file as of that commit
    #[arg(long, value_name = "FILE|git:REF")]
    against: Option<String>,
    /// Print one JSON object
    #[arg(long, conflicts_with = "github")]
    json: bool,
    /// Print annotations for GitHub Actions
    #[arg(long)]
    github: bool,
}

pub(super) fn run(options: &Options, registry: &Registry) -> anyhow::Result<()> {
    let path = &options.lock.path;
    let lock = source::file(path)?.with_context(|| {
        format!("there is no {}; write it with `eventlane registry lock`", path.display())
    })?;
    let against = options.against.as_deref().map(|older| source::against(older, path)).transpose()?;
    let check = Check::run(registry, &lock, against.as_ref());

    let shown = path.display().to_string();
    let older = options.against.as_deref().unwrap_or_default();
    if options.json {
        say(&check.to_json().to_string())?;
    } else if options.github {
        say(check.to_github(&shown, older).trim_end())?;
    } else {
        say(check.to_text(&shown, older).trim_end())?;
    }
    let outcome = check.outcome();
    match outcome {
        Outcome::Fine => Ok(()),
        Outcome::Stale => {
            let line = format!("{shown} is stale; write it with `eventlane registry lock` and commit it");
            Err(Found::error(outcome.exit_code(), line))
        }
        Outcome::Breaking => {
            let line = format!("something breaks since {older}; give the changed stream a new name");
            Err(Found::error(outcome.exit_code(), line))
        }
    }
}

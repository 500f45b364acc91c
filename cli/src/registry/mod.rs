//! `registry`: how the streams evolve. `lock` writes the lock file, `check` holds the code against
//! it and against an older one, `export` and `explain` hand the contracts on.
//!
//! Exit codes: 0 fine, 1 a failure, 2 a wrong command line, 3 the lock is stale, 4 something breaks.

mod check;
mod explain;
mod export;
mod lock;
mod source;

use std::fmt;
use std::path::PathBuf;

use eventlane_contracts::Registry;

/// Where the lock stands unless told otherwise.
const LOCK: &str = "streams.lock.json";

#[derive(clap::Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand)]
enum Action {
    /// Write the lock file; refuses to write what breaks
    Lock(lock::Options),
    /// Hold the code against its lock, and against an older lock
    ///
    /// Exit codes: 0 fine, 1 a failure, 2 a wrong command line, 3 the lock is stale, 4 something
    /// breaks against the older lock (whether or not the lock is stale too).
    Check(check::Options),
    /// Write one JSON Schema file a stream, for generators of other languages
    Export(export::Options),
    /// Print a stream's contract for people: fields, bounds, identity, an example
    Explain(explain::Options),
}

#[derive(clap::Args)]
struct LockFile {
    /// The lock file
    #[arg(long = "lock", value_name = "FILE", default_value = LOCK)]
    path: PathBuf,
}

/// A check that found something: its exit code, and the line that says so.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) exit_code: u8,
    line: String,
}

impl Found {
    fn error(exit_code: u8, line: impl Into<String>) -> anyhow::Error {
        Self { exit_code, line: line.into() }.into()
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.line)
    }
}

impl std::error::Error for Found {}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let registry = eventlane_lane::registry()?;
    match &options.action {
        Action::Lock(options) => lock::run(options, &registry),
        Action::Check(options) => check::run(options, &registry),
        Action::Export(options) => export::run(options, &registry),
        Action::Explain(options) => explain::run(options, &registry),
    }
}

/// The streams' names, for a message.
fn names(registry: &Registry) -> String {
    let names: Vec<&str> = registry.streams().map(|stream| stream.name().as_str()).collect();
    if names.is_empty() { "there are no streams".to_owned() } else { names.join(", ") }
}

//! `cargo xtask soak relay`: eight dispatchers on one table of each engine, and many rows.

use anyhow::bail;

use crate::project::Project;
use crate::services::{Installed, Life, RunFolder, Services};
use crate::shell;

/// The tests that contend; `cargo xtask test` runs them with fewer rows.
const CONTENTION: &str = "tests::contention::";

#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Rows on each engine.
    #[arg(long, default_value_t = 50_000)]
    rows: u64,
    /// Install missing system packages too (done anyway when run as root).
    #[arg(long)]
    install: bool,
}

/// Starts the databases, contends on each engine in turn and prints what came of it.
pub(crate) fn run(project: &Project, options: &Options) -> anyhow::Result<()> {
    let installed = Installed::databases(options.install);
    if !installed.left_out().is_empty() {
        bail!("a soak leaves nothing out:\n- {}", installed.left_out().join("\n- "));
    }
    let run = RunFolder::temporary(project)?;
    let services = Services::start(&installed, run.path(), Life::WithUs)?;
    let mut cargo = project.cargo();
    cargo.args(["test", "--profile", "ci", "-p", "eventlane-relay", "--lib", "--", CONTENTION]);
    cargo.args(["--nocapture", "--test-threads=1"]);
    cargo.env("EVENTLANE_SOAK_ROWS", options.rows.to_string()).envs(services.environment());
    shell::run(&mut cargo)
}

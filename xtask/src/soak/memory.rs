//! `cargo xtask soak memory`: what a running ingest holds under 64 requests of 4 MiB at once.

use crate::project::Project;
use crate::shell;

/// Runs that measurement, which fails beyond what may be resident.
pub(crate) fn run(project: &Project) -> anyhow::Result<()> {
    shell::run(project.cargo().args(["build", "--profile", "ci", "-p", "eventlane"]))?;
    let bench = ["run", "--profile", "ci", "-p", "eventlane-benches", "--", "--only", "ingest_concurrent"];
    shell::run(project.cargo().args(bench).env("EVENTLANE_TEST_BIN_DIR", project.bin_dir()?))
}

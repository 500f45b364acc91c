//! `cargo xtask soak outbox`: what a backlog costs, in time and memory.

use crate::project::Project;
use crate::shell;

/// Runs the outbox's own proof, which prints its ratios and fails beyond them.
pub(crate) fn run(project: &Project) -> anyhow::Result<()> {
    let backlog = ["run", "--profile", "ci", "-p", "eventlane-outbox", "--example", "backlog"];
    shell::run(project.cargo().args(backlog))
}

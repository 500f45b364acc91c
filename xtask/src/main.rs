//! `cargo xtask`: the one tool for working on Eventlane.
#![expect(clippy::print_stdout, reason = "a command talks to its user on stdout")]

mod fuzz;
mod lint;
mod local;
mod project;
mod services;
mod shell;
mod soak;
mod test;

use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

use crate::project::Project;
use crate::test::Goldens;

/// Eventlane's developer command.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Check the formatting (`cargo fmt` repairs it).
    Fmt,
    /// Check formatting, clippy with warnings denied, and which crates may be in the graph.
    Lint,
    /// Install what the tests need, start the local services, run every test, stop the services.
    Test(TestArgs),
    /// Run the tests so that they rewrite their golden files; the diff is yours to judge.
    Golden(TestArgs),
    /// Proofs that take long and are no part of `test`.
    Soak {
        #[command(subcommand)]
        soak: soak::Soak,
    },
    /// Fuzz the door: libFuzzer where a nightly toolchain is, Schemathesis for the API.
    Fuzz(fuzz::Options),
    /// The local services alone, in the background, for development.
    Local {
        #[command(subcommand)]
        action: Local,
    },
}

#[derive(Debug, Args)]
struct TestArgs {
    /// Install missing system packages too (done anyway when run as root).
    #[arg(long)]
    install: bool,
    /// Passed on to `cargo test`.
    #[arg(last = true)]
    args: Vec<String>,
}

#[derive(Debug, Subcommand)]
enum Local {
    /// Start them, and print what to export.
    Up,
    /// Stop them.
    Down,
}

fn main() -> ExitCode {
    // One line with its causes: a backtrace into this tool would bury the reason above it.
    run(Cli::parse().task).map_or_else(
        |error| {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        },
        |()| ExitCode::SUCCESS,
    )
}

fn run(task: Task) -> anyhow::Result<()> {
    let project = Project::find()?;
    match task {
        Task::Fmt => lint::fmt(&project),
        Task::Lint => lint::lint(&project),
        Task::Test(TestArgs { install, args }) => test::test(&project, Goldens::Compare, install, &args),
        Task::Golden(TestArgs { install, args }) => test::test(&project, Goldens::Write, install, &args),
        Task::Fuzz(options) => fuzz::run(&project, &options),
        Task::Soak { soak } => soak::run(&project, &soak),
        Task::Local { action: Local::Up } => local::up(&project),
        Task::Local { action: Local::Down } => local::down(&project),
    }
}

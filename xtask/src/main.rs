//! `cargo xtask`: the one tool for working on Eventlane.
#![expect(clippy::print_stdout, reason = "a command talks to its user on stdout")]

mod bench;
mod bundle;
mod fuzz;
mod infra;
mod lint;
mod local;
mod project;
mod sbom;
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
    /// Build for release, measure, and print each figure beside its reach.
    Bench(bench::Options),
    /// Count the hot paths' instructions and compare them with the counts that are kept.
    Instructions(bench::Counting),
    /// The infrastructure app.
    Infra {
        #[command(subcommand)]
        action: InfraTask,
    },
    /// Build the functions for Lambda (ARM) and report their sizes.
    Bundle,
    /// Write a bill of materials of each program to `target/sbom`.
    Sbom,
    /// A lane on a local AWS, in the background: the services, and the real stack deployed to them.
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
    /// Start them, deploy, and print the lane's URL and what to export.
    Up,
    /// Stop them; what was deployed is gone with them.
    Down,
}

#[derive(Debug, Subcommand)]
enum InfraTask {
    /// Show what a deployment would change: `cdk diff`.
    Diff {
        /// Passed on to `cdk diff`.
        #[arg(last = true)]
        args: Vec<String>,
    },
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
        Task::Bench(options) => bench::bench(&project, &options),
        Task::Instructions(counting) => bench::instructions(&project, &counting),
        Task::Soak { soak } => soak::run(&project, &soak),
        Task::Infra { action: InfraTask::Diff { args } } => infra::diff(&project, &args),
        Task::Sbom => sbom::sbom(&project),
        Task::Bundle => bundle::bundle(&project),
        Task::Local { action: Local::Up } => local::up(&project),
        Task::Local { action: Local::Down } => local::down(&project),
    }
}

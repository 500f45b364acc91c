//! `cargo xtask fuzz`: the door's properties with inputs that coverage guides, for minutes.
//!
//! libFuzzer takes a nightly toolchain; without one the same properties are hunted by mutation.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, bail};

use crate::project::Project;
use crate::services::{self, Installed};
use crate::shell;
use crate::test::FEATURES;

/// The version that the targets were tried with.
const CARGO_FUZZ: &str = "0.13.2";

/// Longest input made up, in bytes: a batch of a few events. The limits have tests of their own.
const INPUT_BYTES: usize = 65_536;

/// Requests made up for each operation of the API, for each minute asked for.
const EXAMPLES_A_MINUTE: u64 = 2_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Target {
    /// Any bytes as a request's body.
    Body,
    /// Any bytes inside one event between two sound ones.
    Envelope,
    /// Any bytes as a token.
    Token,
    /// `eventlane up` against its own OpenAPI document.
    Api,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// What to fuzz; everything in turn if not given.
    #[arg(value_enum)]
    target: Option<Target>,
    /// How long, for each target.
    #[arg(long, default_value_t = 10)]
    minutes: u64,
}

/// Fuzzes; what breaks a property is written below `.local/fuzz/artifacts` and fails.
pub(crate) fn run(project: &Project, options: &Options) -> anyhow::Result<()> {
    let all = [Target::Body, Target::Envelope, Target::Token, Target::Api];
    for target in all.into_iter().filter(|target| options.target.is_none_or(|chosen| chosen == *target)) {
        match target {
            Target::Body => fuzz(project, "body", options.minutes)?,
            Target::Envelope => fuzz(project, "envelope", options.minutes)?,
            Target::Token => fuzz(project, "token", options.minutes)?,
            Target::Api => api(project, options.minutes)?,
        }
    }
    Ok(())
}

fn fuzz(project: &Project, target: &str, minutes: u64) -> anyhow::Result<()> {
    let seconds = minutes.saturating_mul(60).to_string();
    if !has_nightly() {
        println!("no nightly toolchain, so no libFuzzer: hunting by mutation");
        let mut cargo = project.cargo();
        cargo.args(["test", "--profile", "ci", "-p", "eventlane-properties", "--lib", "--", "--exact"]);
        let test = match target {
            "body" => "tests::any_body_is_answered_within_the_contract",
            "envelope" => "tests::anything_inside_one_event_leaves_its_neighbours_alone",
            _ => "tests::anything_but_a_signed_token_stays_outside",
        };
        return shell::run(cargo.args([test, "--nocapture"]).env("EVENTLANE_FUZZ_SECONDS", seconds));
    }
    let folder = project.local().join("fuzz");
    let (seeds, corpus, artifacts) =
        (folder.join("seeds"), folder.join("corpus").join(target), folder.join("artifacts").join(target));
    for folder in [&corpus, &artifacts] {
        fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
    }
    let mut write_seeds = project.cargo();
    write_seeds.args(["run", "--profile", "ci", "-p", "eventlane-properties", "--bin", "fuzz-seeds", "--"]);
    shell::run(write_seeds.arg(&seeds))?;
    let mut cargo_fuzz = Command::new("rustup");
    cargo_fuzz.current_dir(project.root()).args(["run", "nightly"]).arg(cargo_fuzz_program(project)?);
    cargo_fuzz.args(["fuzz", "run", "--fuzz-dir", "tests/fuzz", "--target-dir"]).arg(folder.join("target"));
    // What it finds first goes to the first folder; the seeds are only read.
    cargo_fuzz.arg(target).arg(&corpus).arg(seeds.join(target)).arg("--");
    cargo_fuzz.arg(format!("-max_total_time={seconds}")).arg(format!("-max_len={INPUT_BYTES}"));
    cargo_fuzz.arg(format!("-artifact_prefix={}/", artifacts.display())).arg("-timeout=20");
    // The cargo that runs us is not the nightly one.
    for variable in ["CARGO", "RUSTC", "RUSTUP_TOOLCHAIN", "RUSTFLAGS", "CARGO_TARGET_DIR"] {
        cargo_fuzz.env_remove(variable);
    }
    shell::run(&mut cargo_fuzz)
}

fn has_nightly() -> bool {
    let listed = Command::new("rustup").args(["run", "nightly", "rustc", "--version"]).output();
    listed.is_ok_and(|output| output.status.success())
}

/// cargo-fuzz below the project, built once.
fn cargo_fuzz_program(project: &Project) -> anyhow::Result<PathBuf> {
    let tools = project.local().join("tools");
    let program = tools.join("bin").join("cargo-fuzz");
    let version = Command::new(&program).args(["fuzz", "--version"]).output();
    let stands = version.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains(CARGO_FUZZ));
    if !stands {
        let mut install = project.cargo();
        install.args(["install", "cargo-fuzz", "--locked", "--version", CARGO_FUZZ, "--root"]);
        shell::run(install.arg(&tools))?;
    }
    Ok(program)
}

/// The test that `cargo xtask test` runs a little of.
fn api(project: &Project, minutes: u64) -> anyhow::Result<()> {
    let installed = Installed::install(project, false)?;
    let Some((variable, python)) = installed.schemathesis() else {
        bail!("{}", installed.left_out().join("\n"));
    };
    let all = ["--profile", "ci", "--workspace", "--features", FEATURES];
    shell::run(project.cargo().arg("build").args(all).arg("--bins"))?;
    let mut cargo = project.cargo();
    cargo.arg("test").args(all).args(["--test", "e2e", "--", "schemathesis", "--nocapture"]);
    cargo.env("EVENTLANE_TEST_BIN_DIR", project.bin_dir()?).env(variable, python);
    cargo.env(services::API_EXAMPLES, minutes.saturating_mul(EXAMPLES_A_MINUTE).to_string());
    shell::run(&mut cargo)
}

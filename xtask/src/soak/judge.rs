//! `cargo xtask soak judge`: schema pairs and payloads made up for minutes, every verdict of the judge
//! held against what the validators say.

use crate::project::Project;
use crate::shell;

/// The test that hunts; `cargo xtask test` runs a little of it.
const HUNT: &str = "tests::hunt::for_as_long_as_asked";

#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// How long to hunt.
    #[arg(long, default_value_t = 10)]
    minutes: u64,
    /// The first seed, to repeat a hunt; from the time of day when left out.
    #[arg(long)]
    seed: Option<u64>,
}

/// Builds the tests of the contracts and hunts; a lie is printed with its seed and fails.
pub(crate) fn run(project: &Project, options: &Options) -> anyhow::Result<()> {
    let mut cargo = project.cargo();
    cargo.args(["test", "--profile", "ci", "-p", "eventlane-contracts", "--lib", "--"]);
    cargo.args(["--exact", HUNT, "--nocapture"]);
    cargo.env("EVENTLANE_SOAK_SECONDS", options.minutes.saturating_mul(60).to_string());
    match options.seed {
        Some(seed) => cargo.env("EVENTLANE_SOAK_SEED", seed.to_string()),
        None => cargo.env_remove("EVENTLANE_SOAK_SEED"),
    };
    shell::run(&mut cargo)
}

//! `cargo xtask test` and `cargo xtask golden`.

use std::process::Command;

use anyhow::bail;

use crate::infra::Lane;
use crate::project::{Project, in_ci};
use crate::services::{Installed, Life, RunFolder, Services};
use crate::shell;

/// The one set of features that is built for tests: all there are.
pub(crate) const FEATURES: &str = "eventlane/aws,eventlane/relay,eventlane-consumer/proof";

/// What the tests do with their golden files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Goldens {
    /// A difference fails the test.
    Compare,
    /// A difference is written to the file.
    Write,
}

/// Installs, starts, builds, tests; stops what it started however the tests ended.
pub(crate) fn test(
    project: &Project,
    goldens: Goldens,
    install: bool,
    args: &[String],
) -> anyhow::Result<()> {
    let installed = Installed::install(project, install)?;
    if !installed.left_out().is_empty() {
        let list = installed.left_out().join("\n- ");
        if in_ci() {
            bail!("CI leaves nothing out, but this machine lacks a part:\n- {list}");
        }
        println!("left out, since this machine lacks a part:\n- {list}");
    }
    // One build of all binaries before the tests, so that the functions they start share features
    // and artefacts with the test binaries.
    build(project)?;
    // A run that is narrowed is about what it names.
    if let (Some(infra), true) = (installed.infra(), args.is_empty()) {
        infra.test(goldens)?;
    }

    let run = RunFolder::temporary(project)?;
    let services = Services::start(&installed, run.path(), Life::WithUs)?;
    let lane = match (installed.infra(), services.deployable()) {
        (Some(infra), Some(emulator)) => Some(infra.deploy(emulator, &project.bin_dir()?, run.path())?),
        _ => None,
    };
    let mut cargo = cargo_test(project, goldens, &installed, &services, args)?;
    cargo.envs(lane.iter().flat_map(Lane::environment));
    let tested = shell::run(&mut cargo);
    drop(services);
    match &tested {
        Ok(()) => println!("every test passed; the local services are stopped"),
        Err(_) => println!("the local services are stopped; their logs: {}", run.keep_logs()?.display()),
    }
    tested
}

/// Builds every binary.
pub(crate) fn build(project: &Project) -> anyhow::Result<()> {
    let bins = ["build", "--profile", "ci", "--workspace", "--features", FEATURES, "--bins"];
    shell::run(project.cargo().args(bins))
}

fn cargo_test(
    project: &Project,
    goldens: Goldens,
    installed: &Installed,
    services: &Services,
    args: &[String],
) -> anyhow::Result<Command> {
    let mut cargo = project.cargo();
    cargo
        .args(["test", "--profile", "ci", "--workspace", "--features", FEATURES, "--no-fail-fast"])
        .args(args);
    cargo.args(skips(installed, args));
    cargo
        .env("EVENTLANE_TEST_BIN_DIR", project.bin_dir()?)
        .envs(services.environment())
        .envs(installed.schemathesis());
    match goldens {
        Goldens::Compare => cargo.env_remove("EVENTLANE_GOLDEN").env("INSTA_UPDATE", "no"),
        Goldens::Write => cargo.env("EVENTLANE_GOLDEN", "write").env("INSTA_UPDATE", "always"),
    };
    Ok(cargo)
}

/// A test that needs an emulator or a database carries its name in its own path (a module or the
/// function), so that it can be left out where that can't run.
fn skips(installed: &Installed, args: &[String]) -> Vec<String> {
    let missing = installed.missing();
    if missing.is_empty() {
        return Vec::new();
    }
    let separator = (!args.iter().any(|arg| arg == "--")).then(|| "--".to_owned());
    let skip = missing.into_iter().flat_map(|name| ["--skip".to_owned(), name.to_owned()]);
    separator.into_iter().chain(skip).collect()
}

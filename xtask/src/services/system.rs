//! Packages of the operating system, for what can't live in the project's own folder.

use std::process::Command;

use anyhow::bail;

use crate::shell;

/// Installs packages with apt, as root or when asked to.
pub(super) fn install(packages: &[&str], allowed: bool) -> anyhow::Result<()> {
    let list = packages.join(" ");
    let root = shell::output(Command::new("id").arg("-u"))?.trim() == "0";
    if !(root || allowed) {
        bail!("install the system package {list}, or let `cargo xtask test --install` do it");
    }
    let apt = |arguments: &[&str]| {
        let mut command = if root { Command::new("apt-get") } else { Command::new("sudo") };
        if !root {
            command.args(["-n", "apt-get"]);
        }
        shell::run(command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive"))
    };
    apt(&["update", "-q"])?;
    apt(&[&["install", "-y", "-q", "--no-install-recommends"], packages].concat())
}

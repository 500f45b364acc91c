//! Packages of the operating system, for what can't live in the project's own folder.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};

use crate::shell;

/// Installs packages with apt, as root or when asked to.
pub(crate) fn install(packages: &[&str], allowed: bool) -> anyhow::Result<()> {
    let list = packages.join(" ");
    let root = is_root()?;
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

/// Asked by Debian's packages before they start a service.
const POLICY: &str = "/usr/sbin/policy-rc.d";

/// Installs packages of servers without letting the system start them. A policy that is there
/// already stays as it is; without root it can't be set, and the server's own port may be taken.
pub(super) fn install_servers(packages: &[&str], allowed: bool) -> anyhow::Result<()> {
    let guarded = is_root()? && !Path::new(POLICY).exists();
    if guarded {
        fs::write(POLICY, "#!/bin/sh\nexit 101\n").context("keep servers from starting by themselves")?;
        shell::output(Command::new("chmod").args(["755", POLICY]))?;
    }
    let installed = install(packages, allowed);
    if guarded {
        fs::remove_file(POLICY).context("take the policy away again")?;
    }
    installed
}

/// Whether we are root.
pub(super) fn is_root() -> anyhow::Result<bool> {
    Ok(shell::output(Command::new("id").arg("-u"))?.trim() == "0")
}

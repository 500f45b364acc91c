//! Where things are: the workspace, its private folder, the binaries cargo builds.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

/// The checkout this xtask was built from.
#[derive(Debug)]
pub(crate) struct Project {
    root: PathBuf,
}

impl Project {
    /// The checkout around this crate.
    pub(crate) fn find() -> anyhow::Result<Self> {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = manifest.parent().context("xtask stands in no workspace")?.to_owned();
        Ok(Self { root })
    }

    /// The workspace's root.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// What the developer tools install and write; git ignores it.
    pub(crate) fn local(&self) -> PathBuf {
        self.root.join(".local")
    }

    /// Where `--profile ci` puts binaries: beside this one, which was built so too.
    pub(crate) fn bin_dir(&self) -> anyhow::Result<PathBuf> {
        let here = env::current_exe().context("this program's own path")?;
        let profile = here.parent().context("this program stands in no folder")?;
        Ok(profile.with_file_name("ci"))
    }

    /// cargo at the root, free of what the cargo that runs us has set for us alone.
    pub(crate) fn cargo(&self) -> Command {
        let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.current_dir(&self.root);
        for (key, _) in env::vars_os() {
            let name = key.to_string_lossy();
            if ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|prefix| name.starts_with(prefix)) {
                cargo.env_remove(&key);
            }
        }
        cargo
    }
}

/// Whether nobody is watching: what is left out is then a failure.
pub(crate) fn in_ci() -> bool {
    env::var("CI").is_ok_and(|value| !matches!(value.as_str(), "" | "0" | "false"))
}

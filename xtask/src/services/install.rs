//! What the tests need, installed into the project's own folder.

use std::fs::{self, File};

use anyhow::Context;

use super::emulator::Emulator;
use super::{localstack, ministack, python, venv};
use crate::infra::Infra;
use crate::project::Project;

/// What could be installed, and what not.
#[derive(Debug, Default)]
pub(crate) struct Installed {
    emulators: Vec<Emulator>,
    infra: Option<Infra>,
    missing: Vec<&'static str>,
    left_out: Vec<String>,
}

impl Installed {
    /// Installs both emulators and the infrastructure app's packages; what already stands with the same pins is left alone.
    ///
    /// `system` allows system packages to be installed even when not run as root.
    pub(crate) fn install(project: &Project, system: bool) -> anyhow::Result<Self> {
        let local = project.local();
        fs::create_dir_all(&local).with_context(|| format!("create {}", local.display()))?;
        // Two runs at once must not build one venv together. Closing the file unlocks it.
        let lock = File::create(local.join("install.lock")).context("create the installation's lock file")?;
        lock.lock().context("wait for another installation to end")?;

        let mut installed = Self::default();
        for part in [localstack::PART, ministack::PART] {
            let Some(python) = python::find(part.python) else {
                installed.missing.push(part.name);
                installed.left_out.push(format!(
                    "tests on {}: it needs Python {}.{} or newer, and none was found",
                    part.title, part.python.0, part.python.1
                ));
                continue;
            };
            let pins = project.root().join("localstack").join(part.requirements);
            let interpreter = venv::ensure(&python, &local.join(part.name), &pins, system)?;
            let files = project.root().join("localstack");
            installed.emulators.push(Emulator { part, interpreter, files });
        }
        match Infra::install(project)? {
            Ok(infra) => installed.infra = Some(infra),
            Err(lack) => {
                installed.missing.push("deployed");
                installed.left_out.push(lack);
            }
        }
        Ok(installed)
    }

    /// The infrastructure app, where Node is.
    pub(crate) fn infra(&self) -> Option<&Infra> {
        self.infra.as_ref()
    }

    /// What can be started.
    pub(crate) fn emulators(&self) -> impl Iterator<Item = &Emulator> {
        self.emulators.iter()
    }

    /// What can't run here, by the name its tests carry.
    pub(crate) fn missing(&self) -> Vec<&'static str> {
        self.missing.clone()
    }

    /// What is left out and why, for the reader.
    pub(crate) fn left_out(&self) -> &[String] {
        &self.left_out
    }
}

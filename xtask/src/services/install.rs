//! What the tests need, installed into the project's own folder.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::database::{PARTS, Server};
use super::emulator::Emulator;
use super::{localstack, ministack, python, schemathesis, venv};
use crate::infra::Infra;
use crate::project::Project;

/// What could be installed, and what not.
#[derive(Debug, Default)]
pub(crate) struct Installed {
    emulators: Vec<Emulator>,
    schemathesis: Option<PathBuf>,
    servers: Vec<Server>,
    infra: Option<Infra>,
    missing: Vec<&'static str>,
    left_out: Vec<String>,
}

impl Installed {
    /// Installs the emulators, Schemathesis, the database servers and the infrastructure app's packages;
    /// what already stands with the same pins is left alone.
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
        installed.add_schemathesis(project, system)?;
        installed.add_databases(system);
        match Infra::install(project)? {
            Ok(infra) => installed.infra = Some(infra),
            Err(lack) => {
                installed.missing.push("deployed");
                installed.left_out.push(lack);
            }
        }
        Ok(installed)
    }

    /// The database servers alone.
    pub(crate) fn databases(system: bool) -> Self {
        let mut installed = Self::default();
        installed.add_databases(system);
        installed
    }

    fn add_schemathesis(&mut self, project: &Project, system: bool) -> anyhow::Result<()> {
        let Some(python) = python::find(schemathesis::PYTHON) else {
            let (major, minor) = schemathesis::PYTHON;
            self.missing.push(schemathesis::NAME);
            self.left_out.push(format!(
                "the API run by Schemathesis: it needs Python {major}.{minor} or newer, and none was found"
            ));
            return Ok(());
        };
        let pins = project.root().join(schemathesis::REQUIREMENTS);
        let interpreter = venv::ensure(&python, &project.local().join(schemathesis::NAME), &pins, system)?;
        self.schemathesis = Some(interpreter);
        Ok(())
    }

    fn add_databases(&mut self, system: bool) {
        for part in PARTS {
            // A pooler stands in front of the PostgreSQL that we start, or of none.
            let alone = part.name == "pgbouncer" && !self.servers.iter().any(Server::is_our_postgres);
            let found = if alone { Server::given(part) } else { Server::find(part, system) };
            match found {
                Ok(server) => self.servers.push(server),
                Err(reason) => {
                    self.missing.push(part.name);
                    self.left_out.push(reason);
                }
            }
        }
    }

    /// The interpreter that has Schemathesis, under its variable.
    pub(crate) fn schemathesis(&self) -> Option<(&'static str, &Path)> {
        Some((schemathesis::VARIABLE, self.schemathesis.as_deref()?))
    }

    /// The database servers that can be started, PostgreSQL before its pooler.
    pub(super) fn servers(&self) -> &[Server] {
        &self.servers
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

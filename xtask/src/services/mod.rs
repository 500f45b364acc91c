//! What the tests run against: the local AWS, two emulators, each for what it does best; and the
//! databases of the relay.
//!
//! Everything is installed into and written below the project's `.local/`; every server listens on
//! loopback alone, on a port nobody else uses.

mod aws_json;
mod database;
mod emulator;
mod group;
mod health;
mod install;
mod localstack;
mod ministack;
pub(crate) mod python;
mod run_folder;
mod schemathesis;
pub(crate) mod system;
pub(crate) mod venv;

use std::path::Path;
use std::thread;

use anyhow::anyhow;

pub(crate) use aws_json::AwsJson;
pub(crate) use emulator::Running;
pub(crate) use group::{Life, is_alive, stop_detached};
pub(crate) use install::Installed;
pub(crate) use run_folder::RunFolder;
pub(crate) use schemathesis::API_EXAMPLES;

/// The emulators that run for us; dropping it stops them, unless they were started
/// [`Life::Detached`].
#[derive(Debug)]
pub(crate) struct Services {
    running: Vec<Running>,
    databases: Vec<database::Running>,
}

/// A service that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Service {
    /// The environment variable that tells the tests where it is.
    pub(crate) variable: &'static str,
    /// Where it is.
    pub(crate) url: String,
    /// Its process group; none for one that was given by its URL.
    pub(crate) group: Option<u32>,
}

impl Services {
    /// Starts what is installed, all at once, each in its own folder below `folder`, and returns
    /// when each of them answers.
    pub(crate) fn start(installed: &Installed, folder: &Path, life: Life) -> anyhow::Result<Self> {
        let started: Vec<anyhow::Result<Running>> = thread::scope(|scope| {
            let starts: Vec<_> = installed
                .emulators()
                .map(|emulator| scope.spawn(move || emulator.start(folder, life)))
                .collect();
            let crashed = |_| Err(anyhow!("a start crashed"));
            starts.into_iter().map(|start| start.join().unwrap_or_else(crashed)).collect()
        });
        // When one start failed, the early return drops, and so stops, the others.
        let running = started.into_iter().collect::<anyhow::Result<Vec<_>>>()?;
        for service in &running {
            println!("{} answers on {}", service.name(), service.url());
        }
        let mut databases: Vec<database::Running> = Vec::new();
        for server in installed.servers() {
            let postgres = databases.iter().find(|one| one.name() == "postgres").map(database::Running::url);
            let started = server.start(folder, life, postgres)?;
            println!("{} answers on {}", started.name(), started.variable());
            databases.push(started);
        }
        Ok(Self { running, databases })
    }

    /// What the tests read: where each service is.
    pub(crate) fn environment(&self) -> impl Iterator<Item = (&'static str, String)> {
        self.iter().map(|service| (service.variable, service.url))
    }

    /// The emulator that a stack can be deployed to.
    pub(crate) fn deployable(&self) -> Option<&Running> {
        self.running.iter().find(|service| service.name() == ministack::PART.name)
    }

    /// Each service that runs.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Service> {
        let emulators = self.running.iter().map(|one| Service {
            variable: one.variable(),
            url: one.url(),
            group: Some(one.group()),
        });
        let databases = self.databases.iter().map(|one| Service {
            variable: one.variable(),
            url: one.url().to_owned(),
            group: one.group(),
        });
        emulators.chain(databases)
    }
}

//! The local AWS the tests run against: two emulators, each for what it does best.
//!
//! Everything is installed into and written below the project's `.local/`; every server listens on
//! loopback alone, on a port nobody else uses.

mod aws_json;
mod emulator;
mod group;
mod health;
mod install;
mod localstack;
mod ministack;
pub(crate) mod python;
mod run_folder;
mod system;
pub(crate) mod venv;

use std::path::Path;
use std::thread;

use anyhow::anyhow;

pub(crate) use aws_json::AwsJson;
pub(crate) use emulator::Running;
pub(crate) use group::{Life, is_alive, stop_detached};
pub(crate) use install::Installed;
pub(crate) use run_folder::RunFolder;

/// The emulators that run for us; dropping it stops them, unless they were started
/// [`Life::Detached`].
#[derive(Debug)]
pub(crate) struct Services {
    running: Vec<Running>,
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
        Ok(Self { running })
    }

    /// What the tests read: where each emulator is.
    pub(crate) fn environment(&self) -> impl Iterator<Item = (&'static str, String)> {
        self.running.iter().map(|service| (service.variable(), service.url()))
    }

    /// The emulator that a stack can be deployed to.
    pub(crate) fn deployable(&self) -> Option<&Running> {
        self.running.iter().find(|service| service.name() == ministack::PART.name)
    }

    /// Each emulator that runs.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Running> {
        self.running.iter()
    }
}

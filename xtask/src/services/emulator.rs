//! Starting one emulator, and waiting until it answers.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use super::aws_json::{self, AwsJson};
use super::group::{self, Life};
use super::health;

/// How long a start may take. Warm it is 3 s; a cold file cache on a busy machine needs far more.
const START: Duration = Duration::from_secs(120);

/// A free port can be taken by someone else before the emulator binds it; a second race in a row
/// is no race.
const ATTEMPTS: usize = 2;

/// What is known of an emulator before anything is installed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part {
    /// Its name in paths, and in the paths of the tests that need it.
    pub(crate) name: &'static str,
    /// Its name for the reader.
    pub(crate) title: &'static str,
    /// The environment variable that tells the tests where it is.
    pub(crate) variable: &'static str,
    /// The oldest Python it runs on.
    pub(crate) python: (u32, u32),
    /// Its pins, a file in `localstack/`.
    pub(crate) requirements: &'static str,
    /// The path that answers 200 once it is ready.
    pub(crate) health: &'static str,
    /// Adds to the command the program that starts it, with its arguments and environment.
    pub(crate) command: fn(&Start<'_>, &mut Command),
}

/// What a start command is made from.
#[derive(Debug)]
pub(crate) struct Start<'a> {
    /// The venv's interpreter.
    pub(crate) interpreter: &'a Path,
    /// The project's folder `localstack/`.
    pub(crate) files: &'a Path,
    /// The emulator's private folder: exists, empty.
    pub(crate) folder: &'a Path,
    /// The port to listen on.
    pub(crate) port: u16,
}

/// An installed emulator.
#[derive(Debug)]
pub(crate) struct Emulator {
    pub(super) part: Part,
    pub(super) interpreter: PathBuf,
    pub(super) files: PathBuf,
}

impl Emulator {
    /// Starts it in a private folder below `folder`; its log goes beside that.
    pub(super) fn start(&self, folder: &Path, life: Life) -> anyhow::Result<Running> {
        let title = self.part.title;
        let log = folder.join(format!("{}.log", self.part.name));
        for attempt in 1..=ATTEMPTS {
            let mut running = self.spawn(folder, &log, life).with_context(|| format!("start {title}"))?;
            match running.wait_until_ready() {
                Ok(()) => return Ok(running),
                Err(error) if attempt == ATTEMPTS || !health::port_was_taken(&log) => {
                    return Err(error.context(format!(
                        "{title} did not start; the end of its log:\n{}",
                        health::tail(&log)
                    )));
                }
                Err(_) => {}
            }
        }
        bail!("{title} was given no attempt")
    }

    fn spawn(&self, folder: &Path, log: &Path, life: Life) -> anyhow::Result<Running> {
        let private = folder.join(self.part.name);
        if private.exists() {
            fs::remove_dir_all(&private)?;
        }
        fs::create_dir_all(&private)?;
        let output = File::create(log)?;
        let port = health::free_port()?;
        let start = Start { interpreter: &self.interpreter, files: &self.files, folder: &private, port };
        let mut command = group::command(life);
        // The caller's settings for AWS, proxies and the emulators themselves must change nothing.
        command.env_clear().env("PATH", env::var_os("PATH").unwrap_or_default()).env("LANG", "C.UTF-8");
        (self.part.command)(&start, &mut command);
        command.current_dir(&private).stdout(output.try_clone()?).stderr(output);
        let child = group::spawn(&mut command, life)?;
        Ok(Running { part: self.part, port, child, life, ready: false })
    }
}

/// A started emulator.
#[derive(Debug)]
pub(crate) struct Running {
    part: Part,
    port: u16,
    child: Child,
    life: Life,
    ready: bool,
}

impl Running {
    /// Its name in paths.
    pub(crate) fn name(&self) -> &'static str {
        self.part.name
    }

    /// The environment variable that tells the tests where it is.
    pub(crate) fn variable(&self) -> &'static str {
        self.part.variable
    }

    /// Its endpoint.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Calls it.
    pub(crate) fn aws_json(&self, call: &AwsJson) -> anyhow::Result<String> {
        aws_json::call(self.port, call).with_context(|| format!("call {}", self.part.title))
    }

    /// The id of its process group, which is its leader's process id.
    pub(crate) fn group(&self) -> u32 {
        self.child.id()
    }

    fn wait_until_ready(&mut self) -> anyhow::Result<()> {
        let deadline = Instant::now() + START;
        loop {
            if let Some(status) = self.child.try_wait()? {
                bail!("it ended with {status}");
            }
            if health::answers(self.port, self.part.health) {
                self.ready = true;
                return Ok(());
            }
            if Instant::now() > deadline {
                bail!("it did not answer {} within {} s", self.part.health, START.as_secs());
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.life == Life::WithUs || !self.ready {
            group::stop(&mut self.child);
        }
    }
}

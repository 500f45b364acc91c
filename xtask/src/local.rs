//! `cargo xtask local`: the services in the background, for development.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use crate::infra::Lane;
use crate::project::Project;
use crate::services::{self, Installed, Life, Services};
use crate::{shell, test};

/// Starts the services unless they run, deploys the lane, and prints what to export.
pub(crate) fn up(project: &Project) -> anyhow::Result<()> {
    let folder = folder(project);
    let known = read(&folder);
    let installed = Installed::install(project, false)?;
    if !known.is_empty() && known.iter().all(|service| service.runs(&folder)) {
        return export(project, &installed, &known);
    }
    down(project)?;
    for part in installed.left_out() {
        println!("left out: {part}");
    }
    fs::create_dir_all(&folder).with_context(|| format!("create {}", folder.display()))?;
    let services = Services::start(&installed, &folder, Life::Detached)?;
    let started: Vec<Entry> = services
        .iter()
        // One that was given by its URL is not ours to stop.
        .filter_map(|service| {
            Some(Entry { variable: service.variable.to_owned(), url: service.url, group: service.group? })
        })
        .collect();
    let lines: String = started.iter().map(Entry::line).collect();
    fs::write(folder.join("services"), lines).context("write down what was started")?;
    if let (Some(infra), Some(emulator)) = (installed.infra(), services.deployable()) {
        test::build(project)?;
        tell(&folder, &infra.deploy(emulator, &project.bin_dir()?, &folder)?)?;
    }
    export(project, &installed, &started)
}

/// Keeps what a lane's user needs where only they can read it.
fn tell(folder: &Path, lane: &Lane) -> anyhow::Result<()> {
    let secret = folder.join("token-secret");
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&secret)?;
    file.write_all(lane.token_secret.as_bytes()).context("keep the token secret")?;
    let exports: String = lane
        .environment()
        .iter()
        .filter(|(_, value)| *value != lane.token_secret)
        .map(|(name, value)| format!("export {name}={value}\n"))
        .collect();
    let secret = secret.display();
    let told = format!(
        "# the lane takes events at {}\n# a token: eventlane token --sub me --hs256-secret-file {secret}\n\
         {exports}export EVENTLANE_TEST_LANE_SECRET=\"$(cat {secret})\"\n",
        lane.url
    );
    fs::write(folder.join("lane"), told).context("write down the lane")
}

/// Stops what `up` started; nothing running is fine.
pub(crate) fn down(project: &Project) -> anyhow::Result<()> {
    let folder = folder(project);
    for service in read(&folder) {
        if service.runs(&folder) {
            services::stop_detached(service.group);
            println!("stopped {}", service.url);
        }
    }
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("remove {}", folder.display()))?;
    }
    Ok(())
}

fn folder(project: &Project) -> PathBuf {
    project.local().join("up")
}

fn export(project: &Project, installed: &Installed, services: &[Entry]) -> anyhow::Result<()> {
    println!("export EVENTLANE_TEST_BIN_DIR={}", project.bin_dir()?.display());
    for service in services {
        println!("export {}={}", service.variable, service.url);
    }
    if let Some((variable, python)) = installed.schemathesis() {
        println!("export {variable}={}", python.display());
    }
    // What an earlier `up` has deployed is there as long as the services are.
    print!("{}", fs::read_to_string(folder(project).join("lane")).unwrap_or_default());
    Ok(())
}

/// A service that was started, one line of the file `services`.
#[derive(Debug, PartialEq, Eq)]
struct Entry {
    variable: String,
    url: String,
    group: u32,
}

impl Entry {
    fn line(&self) -> String {
        format!("{} {} {}\n", self.variable, self.url, self.group)
    }

    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split(' ').map(str::to_owned);
        let (variable, url, group) = (words.next()?, words.next()?, words.next()?.parse().ok()?);
        Some(Self { variable, url, group })
    }

    /// Whether it is still ours: after a restart of the machine its id may be someone else's.
    fn runs(&self, up: &Path) -> bool {
        let local = up.parent().unwrap_or(up).to_string_lossy().into_owned();
        services::is_alive(self.group) && command_line(self.group).contains(&local)
    }
}

/// A process's command line: from `/proc` where there is one, since small systems lack `ps`.
fn command_line(process: u32) -> String {
    let ps = || shell::output(Command::new("ps").args(["-o", "command=", "-p", &process.to_string()]));
    fs::read_to_string(format!("/proc/{process}/cmdline")).or_else(|_| ps()).unwrap_or_default()
}

fn read(folder: &Path) -> Vec<Entry> {
    let text = fs::read_to_string(folder.join("services")).unwrap_or_default();
    text.lines().filter_map(Entry::parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_is_found_again_from_its_line() {
        let entry = Entry { variable: "V".to_owned(), url: "http://127.0.0.1:1".to_owned(), group: 7 };
        assert_eq!(Entry::parse(entry.line().trim_end()), Some(entry));
        assert_eq!(Entry::parse("half a"), None);
    }

    #[test]
    fn someone_elses_process_is_not_ours() {
        let entry = Entry { variable: String::new(), url: String::new(), group: std::process::id() };
        assert!(!entry.runs(Path::new("/nonexistent/.local/up")));
    }
}

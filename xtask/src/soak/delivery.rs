//! `cargo xtask soak delivery`: two drains and a runner on one lane, killed at random until every
//! event is somewhere; then the sets of ids say where.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use crate::project::Project;
use crate::shell;

/// The workers: two drains and a runner.
const HOSTS: [&str; 3] = ["drain", "drain", "runner"];

/// A worker lives this long at least, and up to ten times as long.
const LIFE: Duration = Duration::from_millis(80);

/// Longest soak; it only ends a hang.
const PATIENCE: Duration = Duration::from_secs(3_600);

/// How often the queues are asked whether they are empty.
const LOOK: Duration = Duration::from_secs(2);

/// After this many kills the workers are left alone: a soak has to end.
const KILLS: u32 = 400;

#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Events in all.
    #[arg(long, default_value_t = 100_000)]
    events: u64,
    /// Decides which handler fails and when a worker is killed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Builds, fills, kills, judges.
pub(crate) fn run(project: &Project, options: &Options) -> anyhow::Result<()> {
    shell::run(project.cargo().args(["build", "--profile", "ci", "-p", "eventlane"]))?;
    let lane = Lane {
        program: project.bin_dir()?.join("eventlane"),
        folder: project.local().join(format!("soak-delivery-{}", std::process::id())),
        events: options.events,
        seed: options.seed,
    };
    let ended = soak(&lane);
    match &ended {
        Ok(()) => std::fs::remove_dir_all(&lane.folder).context("remove the soak's folder")?,
        Err(_) => println!("the lane's files are kept: {}", lane.folder.display()),
    }
    ended
}

fn soak(lane: &Lane) -> anyhow::Result<()> {
    shell::run(&mut lane.command("fill"))?;
    let started = Instant::now();
    let kills = kill_until_drained(lane, started)?;
    let report = shell::output(&mut lane.command("account"))?;
    println!(
        "{} kills in {} s, seed {}\n{}",
        kills,
        started.elapsed().as_secs(),
        lane.seed,
        report.trim_end()
    );
    judge(&report)
}

fn kill_until_drained(lane: &Lane, started: Instant) -> anyhow::Result<u32> {
    let mut random = Random(lane.seed);
    let mut workers = Vec::new();
    for host in HOSTS {
        workers.push(Worker::start(lane, host, &mut random)?);
    }
    let (mut kills, mut look_at) = (0, Instant::now() + LOOK);
    loop {
        std::thread::sleep(Duration::from_millis(10));
        for worker in &mut workers {
            if worker.child.try_wait()?.is_some() {
                bail!("a {} ended by itself", worker.host);
            }
            if kills < KILLS && Instant::now() >= worker.dies_at {
                // Dropping it kills it: SIGKILL, nothing flushed, nothing released.
                let next = Worker::start(lane, worker.host, &mut random)?;
                drop(std::mem::replace(worker, next));
                kills += 1;
            }
        }
        if Instant::now() >= look_at {
            if shell::output(&mut lane.command("left"))?.trim() == "0" {
                return Ok(kills);
            }
            look_at = Instant::now() + LOOK;
        }
        if started.elapsed() > PATIENCE {
            bail!("the queues are not empty after {PATIENCE:?}");
        }
    }
}

/// What the soak promises, from the account's numbers.
fn judge(report: &str) -> anyhow::Result<()> {
    let number = |name: &str| {
        number(report, name).with_context(|| format!("the account doesn't say {name}: {report}"))
    };
    let mut broken = Vec::new();
    for name in ["lost", "poison_archived", "unknown"] {
        if number(name)? > 0 {
            broken.push(format!("{name} is not 0"));
        }
    }
    if number("archived_rows")? != number("archived")? {
        broken.push("an event is archived twice".to_owned());
    }
    // Copy and delete are one transaction here, and a part is never what was archived.
    if number("in_both")? > 0 {
        broken.push("an event is archived and a dead letter, see in_both_ids".to_owned());
    }
    if !broken.is_empty() {
        bail!("the delivery doesn't keep its promise: {}", broken.join("; "));
    }
    Ok(())
}

/// A number of a flat JSON object.
fn number(report: &str, name: &str) -> Option<u64> {
    let (_, rest) = report.split_once(&format!("\"{name}\":"))?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

struct Lane {
    program: PathBuf,
    folder: PathBuf,
    events: u64,
    seed: u64,
}

impl Lane {
    fn command(&self, action: &str) -> Command {
        let mut command = Command::new(Path::new(&self.program));
        command.args(["soak", action, "--data"]).arg(&self.folder);
        command.args(["--events", &self.events.to_string(), "--seed", &self.seed.to_string()]);
        command
    }
}

/// A process that delivers, and doesn't outlive its owner.
struct Worker {
    host: &'static str,
    child: Child,
    dies_at: Instant,
}

impl Worker {
    fn start(lane: &Lane, host: &'static str, random: &mut Random) -> anyhow::Result<Self> {
        let mut command = lane.command("work");
        command.args(["--host", host]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().with_context(|| format!("start a {host}"))?;
        let life = LIFE * (1 + u32::try_from(random.next() % 10).unwrap_or(0));
        Ok(Self { host, child, dies_at: Instant::now() + life })
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // One that has ended already can't be killed again.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// SplitMix64: enough to choose moments, the same for the same seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_judge_reads_the_account_and_names_what_is_broken() {
        let report =
            r#"{"archived":3,"archived_rows":3,"in_both":0,"lost":0,"poison_archived":0,"unknown":0}"#;
        assert!(judge(report).is_ok());
        let broken = report.replace("\"lost\":0", "\"lost\":2").replace("rows\":3", "rows\":4");
        let error = judge(&broken).unwrap_err().to_string();
        assert!(error.contains("lost is not 0") && error.contains("archived twice"), "{error}");
        assert!(judge("{}").is_err());
    }
}

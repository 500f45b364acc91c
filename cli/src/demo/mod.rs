//! `demo`: the whole lane once, on its own files, with everything that can happen to an event.
//!
//! An app whose registry is a little newer than the server's sends through the real parts over
//! loopback HTTP. The drain is a process of its own: it is killed with work left, started again, and
//! every event is accounted for from what the files say.

mod account;
mod app;

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, bail};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::folder::DataFolder;
use crate::hooks::say;
use crate::local_lane::LocalLane;
use account::Summary;

/// Sub-batches the first drain handles before it is killed: fewer than there are.
const KILLED_AFTER: u64 = 5;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Print the summary as one line of JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let scratch = tempfile::tempdir().context("a temporary folder can't be made")?;
    let folder = DataFolder::create(scratch.path())?;
    let secret = folder.dev_secret()?;
    let lane = LocalLane::open(&folder)?;

    let tell = |line: String| if options.json { Ok(()) } else { say(&line) };
    let server = Server::start(&lane, &secret)?;
    tell(format!("ingest listens on http://{}", server.address))?;
    let sent = app::play(&folder, server.address, &secret)?;
    tell(format!(
        "the app appended {} events and flushed them in {} requests",
        sent.appended.len(),
        sent.requests
    ))?;
    server.stop()?;

    let held = drain_until_killed(scratch.path(), &sent.poison)?;
    tell(format!("the drain was killed while {held}: archived, not yet acked"))?;
    let runtime = crate::runtime()?;
    if runtime.block_on(lane.is_drained())? {
        bail!("the drain was killed with no work left: the demo shows nothing");
    }
    drain_to_the_end(scratch.path(), &sent.poison)?;
    tell("the drain, started again, has emptied every queue".to_owned())?;

    let summary = runtime.block_on(account::of(&folder, &lane, &sent))?;
    say(&if options.json { serde_json::to_string(&summary)? } else { summary.to_string() })?;
    check(&summary)
}

/// What the demo promises.
fn check(summary: &Summary) -> anyhow::Result<()> {
    let Summary { appended, acked, refused, rejected, deferred, delivered, dead_lettered, redelivered, lost } =
        *summary;
    if lost > 0 {
        bail!("{lost} events are lost");
    }
    if appended != acked + refused + rejected + deferred || acked != delivered + dead_lettered {
        bail!("the accounts don't add up");
    }
    if [acked, refused, rejected, deferred, delivered, dead_lettered, redelivered].contains(&0) {
        bail!("the demo meant to show every verdict, a dead letter and a redelivery, and did not");
    }
    Ok(())
}

/// The ingest, on threads of its own.
struct Server {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    thread: std::thread::JoinHandle<anyhow::Result<()>>,
}

impl Server {
    fn start(lane: &LocalLane, secret: &str) -> anyhow::Result<Self> {
        let runtime = crate::runtime()?;
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
        let address = listener.local_addr()?;
        let (stop, stopped) = oneshot::channel::<()>();
        let (lane, secret) = (lane.clone(), secret.to_owned());
        let thread = std::thread::spawn(move || {
            runtime.block_on(lane.serve(listener, secret, None, async {
                // Either way it is time to stop.
                let _ = stopped.await;
            }))
        });
        Ok(Self { address, stop, thread })
    }

    fn stop(self) -> anyhow::Result<()> {
        // A server that has ended already needs no signal.
        let _ = self.stop.send(());
        self.thread.join().unwrap_or_else(|_| bail!("the ingest panicked"))
    }
}

fn drain(data: &Path, poison: &str) -> anyhow::Result<Command> {
    let mut command = Command::new(std::env::current_exe().context("the running program can't be found")?);
    command.arg("drain").arg("--data").arg(data).args(["--poison", poison]).stdin(Stdio::null());
    // Its dead letter is meant, and told in the summary.
    command.env(eventlane_telemetry::LEVEL, "error");
    Ok(command)
}

/// Starts a drain that stands still after a counted sub-batch, and kills it there.
fn drain_until_killed(data: &Path, poison: &str) -> anyhow::Result<String> {
    let mut command = drain(data, poison)?;
    command.args(["--hold-after", &KILLED_AFTER.to_string()]).stdout(Stdio::piped());
    let mut child = Killed(command.spawn().context("the drain can't be started")?);
    let stdout = child.0.stdout.take().context("the drain has no stdout")?;
    let mut line = String::new();
    BufReader::new(stdout).read_line(&mut line)?;
    if !line.starts_with("holding after") {
        bail!("the drain ended before its {KILLED_AFTER}th sub-batch");
    }
    Ok(line.trim().to_owned())
}

/// A child that doesn't outlive its owner: SIGKILL, nothing flushed, nothing released.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        // One that has ended already can't be killed again.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn drain_to_the_end(data: &Path, poison: &str) -> anyhow::Result<()> {
    let status = drain(data, poison)?.status().context("the drain can't be started")?;
    if !status.success() {
        bail!("the drain ended with {status}");
    }
    Ok(())
}

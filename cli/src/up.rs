//! `up`: the lane, kept running until it is told to stop.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use eventlane_consumer::{DeliveryOptions, EventConsumer};
use eventlane_contracts::wire::EVENTS_PATH;
use eventlane_ingest::{Cors, CorsSettings};
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::folder::{self, DataFolder};
use crate::hooks::{Faults, say};
use crate::local_lane::LocalLane;

/// The runner's wait between polls. Short: a local queue costs nothing to ask.
const POLL: Duration = Duration::from_millis(250);

/// How long what runs may take to finish once the lane is asked to stop.
const GRACE: Duration = Duration::from_secs(5);

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Address to listen on; anything but loopback needs --hs256-secret-file
    #[arg(long, default_value = "127.0.0.1:8787")]
    listen: SocketAddr,
    /// Folder for queue.db, archive.db and dev-secret; made where missing
    #[arg(long, default_value = folder::DEFAULT)]
    data: PathBuf,
    /// File with the HS256 secret that signs tokens, at least 32 bytes
    #[arg(long)]
    hs256_secret_file: Option<PathBuf>,
    /// Origins whose pages may send from a browser, with commas, or * for every one
    #[arg(long, value_delimiter = ',')]
    cors_origins: Vec<String>,
    /// Seconds a message that was read stays leased to its handler, 1 to 43200
    #[arg(long, hide = true, default_value_t = 60)]
    visibility_seconds: u64,
    #[command(flatten)]
    faults: Faults,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    if !options.listen.ip().is_loopback() && options.hs256_secret_file.is_none() {
        bail!(
            "--listen {} is open to others: give it a secret of your own with --hs256-secret-file",
            options.listen
        );
    }
    let folder = DataFolder::create(&options.data)?;
    let secret = match &options.hs256_secret_file {
        Some(path) => folder::read_secret(path)?,
        None => folder.dev_secret()?,
    };
    let cors = match options.cors_origins.is_empty() {
        true => None,
        false => {
            let origins = options.cors_origins.clone();
            Some(Cors::new(&CorsSettings { origins, ..CorsSettings::default() })?)
        }
    };
    let lane = LocalLane::open(&folder)?;
    let delivery = DeliveryOptions {
        visibility: Duration::from_secs(options.visibility_seconds),
        poll_floor: POLL,
        poll_ceiling: POLL,
        ..DeliveryOptions::default()
    };
    let consumer = lane.consumer(&folder, delivery, options.faults.clone())?;
    let runtime = crate::runtime()?;
    let ended = runtime.block_on(serve_and_drain(options.listen, secret, cors, lane, consumer));
    // What still hangs on a connection doesn't keep the process.
    runtime.shutdown_background();
    ended
}

async fn serve_and_drain(
    listen: SocketAddr,
    secret: String,
    cors: Option<Cors>,
    lane: LocalLane,
    consumer: EventConsumer,
) -> anyhow::Result<()> {
    let listener = TcpListener::bind(listen).await.with_context(|| format!("can't listen on {listen}"))?;
    let address = listener.local_addr()?;
    // Before anyone is told that the lane is up, so that a stop right after is a stop.
    let mut signals = Signals::listen()?;
    let (stop, stopped) = watch::channel(false);
    let mut until = stopped;
    let serving = tokio::spawn(async move {
        lane.serve(listener, secret, cors, async move {
            // The sender outlives the server, so this ends by the signal alone.
            let _ = until.wait_for(|stop| *stop).await;
        })
        .await
    });
    consumer.start()?;
    say(&format!("listening on http://{address}{EVENTS_PATH}"))?;
    let mut serving = std::pin::pin!(async { serving.await? });
    tokio::select! {
        // It doesn't end by itself but by a fault.
        ended = &mut serving => return ended,
        () = signals.next() => {}
    }
    stop.send_replace(true);
    // What runs may finish, what was read and not started goes back; what is left then lapses, and
    // comes again. A second signal waits for nothing.
    let ending = async {
        let (served, _) = tokio::join!(&mut serving, consumer.stop(GRACE));
        served
    };
    tokio::select! {
        ended = ending => ended,
        () = signals.next() => Ok(()),
        () = tokio::time::sleep(GRACE) => Ok(()),
    }
}

/// The signals that ask a process to end.
pub(crate) struct Signals {
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
}

impl Signals {
    #[cfg(unix)]
    pub(crate) fn listen() -> anyhow::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let (terminate, interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        Ok(Self { terminate, interrupt })
    }

    #[cfg(not(unix))]
    pub(crate) fn listen() -> anyhow::Result<Self> {
        Ok(Self {})
    }

    #[cfg(unix)]
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }

    #[cfg(not(unix))]
    pub(crate) async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

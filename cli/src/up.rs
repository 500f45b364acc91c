//! `up`: the lane, kept running until it is told to stop.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use eventlane_consumer::{DeliveryOptions, EventConsumer};
use eventlane_contracts::wire::EVENTS_PATH;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::folder::{self, DataFolder};
use crate::hooks::{Faults, say};
use crate::local_lane::LocalLane;

/// Budget of one pass. Short: a stream that was seen empty is looked at again after it.
const PASS: Duration = Duration::from_secs(2);

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
    let lane = LocalLane::open(&folder)?;
    let delivery = DeliveryOptions {
        visibility: Duration::from_secs(options.visibility_seconds),
        ..DeliveryOptions::default()
    };
    let consumer = lane.consumer(&folder, delivery, options.faults.clone())?;
    crate::runtime()?.block_on(serve_and_drain(options.listen, secret, lane, consumer))
}

async fn serve_and_drain(
    listen: SocketAddr,
    secret: String,
    lane: LocalLane,
    consumer: EventConsumer,
) -> anyhow::Result<()> {
    let listener = TcpListener::bind(listen).await.with_context(|| format!("can't listen on {listen}"))?;
    let address = listener.local_addr()?;
    let (stop, stopped) = watch::channel(false);
    let mut until = stopped.clone();
    let serving = lane.serve(listener, secret, async move {
        // The sender outlives the server, so this ends by the signal alone.
        let _ = until.wait_for(|stop| *stop).await;
    });
    say(&format!("listening on http://{address}{EVENTS_PATH}"));
    let watching = async {
        let asked = asked_to_stop().await;
        stop.send_replace(true);
        asked
    };
    tokio::try_join!(serving, drain(&consumer, stopped), watching)?;
    Ok(())
}

/// Pass after pass; the one that runs when the lane stops is finished.
async fn drain(consumer: &EventConsumer, stopped: watch::Receiver<bool>) -> anyhow::Result<()> {
    while !*stopped.borrow() {
        consumer.drain_once(PASS).await?;
    }
    Ok(())
}

async fn asked_to_stop() -> anyhow::Result<()> {
    #[cfg(unix)]
    {
        let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
        tokio::select! {
            asked = tokio::signal::ctrl_c() => asked?,
            _ = terminate.recv() => {}
        }
    }
    #[cfg(not(unix))]
    tokio::signal::ctrl_c().await?;
    Ok(())
}

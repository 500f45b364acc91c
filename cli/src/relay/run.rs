//! `relay run`: the dispatcher's loop, hosted.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;
use eventlane_contracts::{Registry, Stream, SystemClock};
use eventlane_queue::{EmbeddedQueue, Producer};
use eventlane_relay::{DispatchOptions, Dispatcher, LanePublisher, LaneTopics, Stopped};

use super::Database;
use crate::folder;
use crate::hooks::say;
use crate::up::Signals;

/// How long a row in flight may take once the loop is asked to stop: SQS's calls end in 8 s.
const GRACE: Duration = Duration::from_secs(10);

#[derive(clap::Args)]
pub(crate) struct Options {
    #[command(flatten)]
    database: Database,
    /// TOPIC=STREAM; may be given again. Without any each stream takes the topic of its own name
    #[arg(long = "topic", value_name = "TOPIC=STREAM", value_parser = pair)]
    topics: Vec<(String, String)>,
    /// The lane's data folder
    #[arg(long, default_value = folder::DEFAULT)]
    data: PathBuf,
    /// URL of the queues on SQS up to the stream's name, instead of a data folder
    #[cfg(feature = "aws")]
    #[arg(long, conflicts_with = "data")]
    queue_url_prefix: Option<String>,
    /// Rows claimed at once, 1 to 1000
    #[arg(long, default_value_t = DispatchOptions::default().batch)]
    batch: u32,
    /// Seconds a claimed row is this process's, 1 to 3600
    #[arg(long, default_value_t = 30)]
    lease_seconds: u64,
    /// Attempts before a row is dead, 1 to 1000
    #[arg(long, default_value_t = DispatchOptions::default().max_attempts)]
    max_attempts: u32,
    /// Days that delivered rows stay
    #[arg(long, default_value_t = 7)]
    retention_days: u32,
    /// Publish what is due, then end
    #[arg(long)]
    once: bool,
}

/// Longest pass of `--once`; it only ends what never would.
const ONCE: Duration = Duration::from_secs(3_600);

fn pair(text: &str) -> Result<(String, String), String> {
    let (topic, stream) = text.rsplit_once('=').ok_or_else(|| format!("{text} is not TOPIC=STREAM"))?;
    Ok((topic.to_owned(), stream.to_owned()))
}

pub(super) async fn run(options: &Options) -> anyhow::Result<()> {
    let registry = Arc::new(eventlane_lane::registry()?);
    let producer = producer(options, &registry).await?;
    let topics = match options.topics.as_slice() {
        [] => LaneTopics::of_streams(registry),
        topics => LaneTopics::mapped(registry, topics.iter().cloned())?,
    };
    let publisher = LanePublisher::new(Arc::new(topics), producer);
    let dispatcher = Dispatcher::builder(options.database.open()?, Arc::new(publisher))
        .options(DispatchOptions {
            batch: options.batch,
            lease: Duration::from_secs(options.lease_seconds),
            max_attempts: options.max_attempts,
            retention: Some(Duration::from_secs(u64::from(options.retention_days) * 86_400)),
            ..DispatchOptions::default()
        })
        .build()?;
    if options.once {
        let report = dispatcher.run_for(ONCE).await?;
        return say(&serde_json::to_string(&report)?);
    }
    // A database that can't be read now is said now; later the loop waits for it.
    dispatcher.metrics().await?;
    let mut signals = Signals::listen()?;
    dispatcher.start()?;
    say("relaying")?;
    signals.next().await;
    tokio::select! {
        stopped = dispatcher.shutdown(GRACE) => match stopped {
            Stopped::Finished => Ok(()),
            Stopped::CutOff => bail!("a row in flight took longer than {} s; it comes again", GRACE.as_secs()),
        },
        // A second signal waits for nothing.
        () = signals.next() => Ok(()),
    }
}

#[cfg_attr(not(feature = "aws"), expect(clippy::unused_async, reason = "SQS's set-up is async"))]
async fn producer(options: &Options, registry: &Registry) -> anyhow::Result<Arc<dyn Producer>> {
    #[cfg(feature = "aws")]
    if let Some(prefix) = &options.queue_url_prefix {
        let config = eventlane_aws::sdk_config(eventlane_aws::Timeouts::default()).await;
        return Ok(Arc::new(eventlane_aws::SqsQueue::new(&config, prefix, Arc::new(SystemClock))?));
    }
    let path = options.data.join("queue.db");
    if !path.exists() {
        bail!("{} holds no lane's queues; `eventlane up` makes them", options.data.display());
    }
    let names = registry.streams().map(Stream::name);
    Ok(Arc::new(EmbeddedQueue::open(&path, names, Arc::new(SystemClock))?))
}

//! Which lane's queues a command is about: a data folder's, or those on SQS.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::bail;
use eventlane_contracts::{Registry, Stream, StreamName, SystemClock};
use eventlane_queue::{Consumer, EmbeddedQueue};

use crate::folder;

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Backend {
    /// The lane's data folder
    #[arg(long, default_value = folder::DEFAULT)]
    data: PathBuf,
    /// URL of the queues on SQS up to the stream's name, instead of a data folder
    #[cfg(feature = "aws")]
    #[arg(long, conflicts_with = "data")]
    queue_url_prefix: Option<String>,
}

/// Queues, and the streams that a command is about.
pub(crate) struct Queues {
    pub(crate) queue: Arc<dyn Consumer>,
    pub(crate) streams: Vec<StreamName>,
}

impl Backend {
    /// The queues of these streams; of all when none is named.
    pub(crate) async fn open(&self, streams: &[String]) -> anyhow::Result<Queues> {
        let registry = eventlane_lane::registry()?;
        let streams = chosen(&registry, streams)?;
        #[cfg(feature = "aws")]
        if let Some(prefix) = &self.queue_url_prefix {
            let config = eventlane_aws::sdk_config(eventlane_aws::Timeouts::default()).await;
            let queue = eventlane_aws::SqsQueue::new(&config, prefix, Arc::new(SystemClock))?;
            return Ok(Queues { queue: Arc::new(queue), streams });
        }
        let path = self.data.join("queue.db");
        // Looking must not make one.
        if !path.exists() {
            bail!("{} holds no lane's queues", self.data.display());
        }
        let names: Vec<StreamName> = registry.streams().map(|stream| stream.name().clone()).collect();
        let queue = EmbeddedQueue::open(&path, &names, Arc::new(SystemClock))?;
        Ok(Queues { queue: Arc::new(queue), streams })
    }
}

/// These streams of the registry; all when none is named.
pub(crate) fn chosen(registry: &Registry, names: &[String]) -> anyhow::Result<Vec<StreamName>> {
    if names.is_empty() {
        return Ok(registry.streams().map(Stream::name).cloned().collect());
    }
    let known = || registry.streams().map(|stream| stream.name().to_string()).collect::<Vec<_>>().join(", ");
    let one = |name: &String| match registry.stream(name) {
        Some(stream) => Ok(stream.name().clone()),
        None => bail!("stream {name} is unknown; known are {}", known()),
    };
    names.iter().map(one).collect()
}

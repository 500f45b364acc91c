//! A lane on one machine: the real ingest, the embedded queue, the real drain, the user's handler.

use std::future::Future;
use std::sync::Arc;

use anyhow::Context;
use eventlane_consumer::{DeliveryOptions, EventConsumer, SqliteArchive};
use eventlane_contracts::{Registry, Stream, SystemClock};
use eventlane_ingest::{Cors, Ingest, IngestOptions, TokenSettings, router, with_openapi};
use eventlane_lane::ArchiveHandler;
use eventlane_queue::{Consumer as _, DeadLetter, EmbeddedQueue};
use tokio::net::TcpListener;

use crate::folder::DataFolder;
use crate::hooks::{Faults, Hooked};
use crate::serve::{self, Bounds};

/// The parts that ingest and drain share.
#[derive(Clone)]
pub(crate) struct LocalLane {
    registry: Arc<Registry>,
    queue: EmbeddedQueue,
}

impl LocalLane {
    /// Opens the folder's queues.
    pub(crate) fn open(folder: &DataFolder) -> anyhow::Result<Self> {
        let registry = Arc::new(eventlane_lane::registry()?);
        let names = registry.streams().map(Stream::name);
        let queue = EmbeddedQueue::open(&folder.queue(), names, Arc::new(SystemClock))?;
        Ok(Self { registry, queue })
    }

    /// Serves the ingest, and the document of its wire, until `until` is done.
    pub(crate) async fn serve(
        &self,
        listener: TcpListener,
        secret: String,
        cors: Option<Cors>,
        until: impl Future<Output = ()> + Send + 'static,
    ) -> anyhow::Result<()> {
        let settings = TokenSettings { hs256_secret: Some(secret), ..TokenSettings::default() };
        let ingest = Ingest {
            registry: Arc::clone(&self.registry),
            producer: Arc::new(self.queue.clone()),
            gate: eventlane_lane::gate(None),
            tokens: settings.verifier(&self.registry, Arc::new(SystemClock))?,
            options: IngestOptions::default(),
        };
        let mut router = with_openapi(router(Arc::new(ingest)));
        if let Some(cors) = cors {
            router = cors.around(router);
        }
        serve::serve(listener, router, Bounds::default(), until).await;
        Ok(())
    }

    /// The drain, with the folder's archive behind the user's handler.
    pub(crate) fn consumer(
        &self,
        folder: &DataFolder,
        options: DeliveryOptions,
        faults: Faults,
    ) -> anyhow::Result<EventConsumer> {
        let archive = SqliteArchive::open(&folder.archive(), Arc::new(SystemClock))?;
        let handler = Arc::new(ArchiveHandler::new(Arc::new(archive)));
        let hooked = Hooked::new(handler, &folder.archive(), faults).context("archive.db can't be opened")?;
        let consumer = EventConsumer::builder(Arc::clone(&self.registry), Arc::new(self.queue.clone()))
            .producer(Arc::new(self.queue.clone()))
            .handler_for_the_rest(Arc::new(hooked))
            .options(options)
            .build()?;
        Ok(consumer)
    }

    /// Whether no queue holds a message any more, leased ones counted.
    pub(crate) async fn is_drained(&self) -> anyhow::Result<bool> {
        for stream in self.registry.streams() {
            let counts = self.queue.counts(stream.name()).await?;
            if counts.waiting + counts.in_flight > 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Every dead letter.
    pub(crate) async fn dead_letters(&self) -> anyhow::Result<Vec<DeadLetter>> {
        let mut letters = Vec::new();
        for stream in self.registry.streams() {
            letters.extend(self.queue.dead_letters(stream.name(), usize::from(u16::MAX)).await?.letters);
        }
        Ok(letters)
    }
}

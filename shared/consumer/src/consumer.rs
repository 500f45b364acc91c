//! A consumer: which streams it takes, who handles them, how delivery goes.

use std::collections::BTreeMap;
use std::sync::Arc;

use eventlane_contracts::{Clock, Registry, StreamName, SystemClock};
use eventlane_queue::{Consumer, Producer};

use crate::host::Host;
use crate::memory::Memory;
use crate::tally::Tallies;
use crate::{DefineError, DeliveryOptions, Handler};

/// What a dead-letter hook is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLettered {
    /// The stream.
    pub stream: StreamName,
    /// The queue's id of the message.
    pub message_id: String,
    /// The events' ids; empty for an unreadable body.
    pub event_ids: Vec<String>,
    /// The handler's reason, or why the body is unreadable.
    pub reason: String,
    /// Attempts spent; 0 for an unreadable body.
    pub attempts: u32,
}

/// Called after a message became a dead letter, beside the warning that is always logged.
pub type DeadLetterHook = dyn Fn(&DeadLettered) + Send + Sync;

/// Delivers streams' events to their handlers, in one of three hosts: a resident runner
/// ([`start`](Self::start)), bounded passes ([`drain_once`](Self::drain_once)), or an event source
/// that reads by itself ([`deliver_read`](Self::deliver_read)).
pub struct EventConsumer {
    pub(crate) core: Arc<Core>,
    pub(crate) host: Host,
}

/// What the hosts share.
pub(crate) struct Core {
    pub(crate) queue: Arc<dyn Consumer>,
    pub(crate) producer: Option<Arc<dyn Producer>>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) streams: Vec<(StreamName, Arc<dyn Handler>)>,
    pub(crate) options: DeliveryOptions,
    pub(crate) hook: Option<Box<DeadLetterHook>>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) memory: Memory,
    pub(crate) tallies: Tallies,
}

impl EventConsumer {
    /// Begins a definition.
    #[must_use]
    pub fn builder(registry: Arc<Registry>, queue: Arc<dyn Consumer>) -> EventConsumerBuilder {
        EventConsumerBuilder {
            registry,
            queue,
            producer: None,
            clock: Arc::new(SystemClock),
            handlers: Vec::new(),
            fallback: None,
            streams: None,
            options: DeliveryOptions::default(),
            hook: None,
        }
    }
}

/// A consumer as it was declared, not yet judged.
pub struct EventConsumerBuilder {
    registry: Arc<Registry>,
    queue: Arc<dyn Consumer>,
    producer: Option<Arc<dyn Producer>>,
    clock: Arc<dyn Clock>,
    handlers: Vec<(String, Arc<dyn Handler>)>,
    fallback: Option<Arc<dyn Handler>>,
    streams: Option<Vec<String>>,
    options: DeliveryOptions,
    hook: Option<Box<DeadLetterHook>>,
}

impl EventConsumerBuilder {
    /// The handler of one stream.
    #[must_use]
    pub fn handler(mut self, stream: &str, handler: Arc<dyn Handler>) -> Self {
        self.handlers.push((stream.to_owned(), handler));
        self
    }

    /// The handler of every stream without one of its own.
    #[must_use]
    pub fn handler_for_the_rest(mut self, handler: Arc<dyn Handler>) -> Self {
        self.fallback = Some(handler);
        self
    }

    /// Takes these streams only, so that streams can be split over processes.
    #[must_use]
    pub fn streams<S: Into<String>>(mut self, streams: impl IntoIterator<Item = S>) -> Self {
        self.streams = Some(streams.into_iter().map(Into::into).collect());
        self
    }

    /// The tuning; the defaults where it isn't called.
    #[must_use]
    pub fn options(mut self, options: DeliveryOptions) -> Self {
        self.options = options;
        self
    }

    /// The same queues for sending, which isolation takes: the events that a handler names go back
    /// as a message of their own, and halving keeps what it had no time for.
    #[must_use]
    pub fn producer(mut self, producer: Arc<dyn Producer>) -> Self {
        self.producer = Some(producer);
        self
    }

    /// The wall clock that dates dead letters; the machine's unless set.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Called for each dead letter.
    #[must_use]
    pub fn on_dead_letter(mut self, hook: impl Fn(&DeadLettered) + Send + Sync + 'static) -> Self {
        self.hook = Some(Box::new(hook));
        self
    }

    /// Judges the definition.
    ///
    /// # Errors
    /// [`DefineError`] with every offender: tuning out of bounds, unknown streams, no stream at
    /// all, a second handler for a stream, a stream without a handler, isolation without a producer.
    pub fn build(self) -> Result<EventConsumer, DefineError> {
        let mut faults = self.options.faults();
        let mut handlers = BTreeMap::new();
        for (stream, handler) in self.handlers {
            if self.registry.stream(&stream).is_none() {
                faults.push(format!("handler for stream {stream}: the registry doesn't know it"));
            } else if handlers.insert(stream.clone(), handler).is_some() {
                faults.push(format!("stream {stream} has a second handler"));
            }
        }
        for stream in self.streams.iter().flatten() {
            if self.registry.stream(stream).is_none() {
                faults.push(format!("stream {stream}: the registry doesn't know it"));
            }
        }
        let mut streams = Vec::new();
        for stream in self.registry.streams().map(eventlane_contracts::Stream::name) {
            if self.streams.as_ref().is_some_and(|chosen| !chosen.iter().any(|name| name == stream.as_str()))
            {
                continue;
            }
            match handlers.remove(stream.as_str()).or_else(|| self.fallback.clone()) {
                Some(handler) => streams.push((stream.clone(), handler)),
                None => faults.push(format!("stream {stream} has no handler")),
            }
        }
        if streams.is_empty() && faults.is_empty() {
            faults.push("there is no stream to consume".to_owned());
        }
        if self.producer.is_none() {
            if self.options.halve {
                faults.push("halving needs a producer to put back what it has no time for".to_owned());
            }
            for (stream, _) in streams.iter().filter(|(_, handler)| handler.names_events()) {
                faults.push(format!("stream {stream}: its handler names events, which needs a producer"));
            }
        }
        if !faults.is_empty() {
            return Err(DefineError(faults));
        }
        Ok(EventConsumer::with_core(Core {
            queue: self.queue,
            producer: self.producer,
            registry: self.registry,
            streams,
            options: self.options,
            hook: self.hook,
            clock: self.clock,
            memory: Memory::default(),
            tallies: Tallies::default(),
        }))
    }
}

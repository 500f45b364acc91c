//! The delivery's promises, on a real queue file. Time is tokio's paused clock, which the queue
//! reads too, so that leases and budgets pass without anyone waiting.

mod archive;
mod definition;
mod delivery;
mod faulty;
mod isolation;
mod ledger;
mod passes;
mod proof;
mod runner;
mod settling;
mod source;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use eventlane_contracts::{Clock, Registry, Stream, StreamName, body_text, event_text};
use eventlane_queue::{Consumer as _, DeadLetter, EmbeddedQueue, Message, Producer, QueueCounts};
use serde_json::json;
use tokio::time::Instant;

use crate::{DeadLettered, DeliveryOptions, EventConsumer, Handler, HandlerError, SubBatch};

const STREAMS: [&str; 10] = ["s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9"];
const BUDGET: Duration = Duration::from_secs(25);

struct PausedClock(Instant);

impl Clock for PausedClock {
    fn now_us(&self) -> i64 {
        1_764_518_400_000_000 + i64::try_from(self.0.elapsed().as_micros()).unwrap()
    }
}

/// How long the nth call takes, from 0.
type Takes = Box<dyn Fn(usize) -> Duration + Send + Sync>;
type Answer = Box<dyn Fn(&SubBatch) -> Result<(), HandlerError> + Send + Sync>;

/// Notes each call, takes its time, then answers as told.
struct Noting {
    calls: Mutex<Vec<(String, u32, Vec<String>)>>,
    running: AtomicUsize,
    most: AtomicUsize,
    takes: Takes,
    answer: Answer,
}

impl Noting {
    fn new(
        takes: Duration,
        answer: impl Fn(&SubBatch) -> Result<(), HandlerError> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Self::build(Box::new(move |_| takes), Box::new(answer))
    }

    /// Quick once, which lets a pass read ahead; slow from then on.
    fn turning_slow(slow: Duration) -> Arc<Self> {
        Self::build(Box::new(move |call| if call == 0 { Duration::ZERO } else { slow }), Box::new(|_| Ok(())))
    }

    fn build(takes: Takes, answer: Answer) -> Arc<Self> {
        Arc::new(Self {
            calls: Mutex::default(),
            running: AtomicUsize::new(0),
            most: AtomicUsize::new(0),
            takes,
            answer,
        })
    }

    fn ok() -> Arc<Self> {
        Self::new(Duration::ZERO, |_| Ok(()))
    }

    fn calls(&self) -> usize {
        self.calls.lock().unwrap().len()
    }

    /// The first event's id of each call, in call order.
    fn firsts(&self) -> Vec<String> {
        self.calls.lock().unwrap().iter().map(|(_, _, ids)| ids[0].clone()).collect()
    }
}

#[async_trait]
impl Handler for Noting {
    async fn handle(&self, batch: &SubBatch) -> Result<(), HandlerError> {
        let ids = batch.events.iter().map(|event| event.event_id.clone()).collect();
        let call = {
            let mut calls = self.calls.lock().unwrap();
            calls.push((batch.stream.to_string(), batch.attempt, ids));
            calls.len() - 1
        };
        let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(running, Ordering::SeqCst);
        let takes = (self.takes)(call);
        if !takes.is_zero() {
            tokio::time::sleep(takes).await;
        }
        self.running.fetch_sub(1, Ordering::SeqCst);
        (self.answer)(batch)
    }
}

struct Bench {
    _folder: tempfile::TempDir,
    queue: EmbeddedQueue,
    registry: Arc<Registry>,
    began: Instant,
    told: Arc<Mutex<Vec<DeadLettered>>>,
}

fn bench() -> Bench {
    let folder = tempfile::tempdir().unwrap();
    let streams = STREAMS.map(|name| Stream::json_schema(name, json!({"type": "integer"})));
    let registry = Registry::define(streams).unwrap();
    let names = registry.streams().map(Stream::name);
    let began = Instant::now();
    let clock = Arc::new(PausedClock(began));
    let queue = EmbeddedQueue::open(&folder.path().join("queue.db"), names, clock).unwrap();
    Bench { _folder: folder, queue, registry: Arc::new(registry), began, told: Arc::default() }
}

fn name(stream: &str) -> StreamName {
    StreamName::new(stream).unwrap()
}

impl Bench {
    fn consumer(&self, handler: &Arc<Noting>, options: DeliveryOptions) -> EventConsumer {
        let told = Arc::clone(&self.told);
        EventConsumer::builder(Arc::clone(&self.registry), Arc::new(self.queue.clone()))
            .handler_for_the_rest(Arc::clone(handler) as Arc<dyn Handler>)
            .options(options)
            .on_dead_letter(move |dead| told.lock().unwrap().push(dead.clone()))
            .build()
            .unwrap()
    }

    /// A consumer on a queue with faults, which is its producer too.
    fn consumer_on(
        &self,
        queue: &Arc<faulty::Faulty>,
        handler: &Arc<Noting>,
        options: DeliveryOptions,
    ) -> EventConsumer {
        let told = Arc::clone(&self.told);
        EventConsumer::builder(
            Arc::clone(&self.registry),
            Arc::clone(queue) as Arc<dyn eventlane_queue::Consumer>,
        )
        .producer(Arc::clone(queue) as Arc<dyn Producer>)
        .handler_for_the_rest(Arc::clone(handler) as Arc<dyn Handler>)
        .options(options)
        .on_dead_letter(move |dead| told.lock().unwrap().push(dead.clone()))
        .build()
        .unwrap()
    }

    /// Enqueues one message with these event ids.
    async fn put(&self, stream: &str, ids: &[&str]) {
        let events: Vec<String> =
            ids.iter().map(|id| event_text(id, "1", &std::collections::BTreeMap::new(), "1")).collect();
        self.put_raw(stream, Message::new(body_text(&name(stream), &events))).await;
    }

    async fn put_raw(&self, stream: &str, message: Message) {
        assert_eq!(self.queue.enqueue(&name(stream), &[message]).await, [Ok(())]);
    }

    async fn counts(&self, stream: &str) -> QueueCounts {
        self.queue.counts(&name(stream)).await.unwrap()
    }

    async fn dead(&self, stream: &str) -> Vec<DeadLetter> {
        self.queue.dead_letters(&name(stream), 100).await.unwrap().letters
    }
}

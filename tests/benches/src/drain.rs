//! Drain, against a bare receive and delete loop on the same kind of queue.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use eventlane_consumer::{EventConsumer, Handler, HandlerError, SubBatch};
use eventlane_contracts::{Registry, Stream, StreamName, SystemClock, body_text, event_text};
use eventlane_queue::{Consumer, EmbeddedQueue, Message, Producer};
use serde_json::json;
use tokio::runtime::Runtime;

use crate::ingest::runtime;
use crate::measure::{Rounds, float, rate, rounds, us_each};
use crate::plot::Line;
use crate::report::{Figure, Reach};

/// Sub-batches of a round.
pub(crate) const SUB_BATCHES: usize = 1000;

/// Events of one.
pub(crate) const EVENTS: usize = 100;

pub(crate) const ROUNDS: usize = 7;

const LEASE: Duration = Duration::from_secs(60);

/// No limit here. The poll that finds nothing, with which both end, isn't counted: time runs to the
/// last sub-batch.
const BUDGET: Duration = Duration::from_secs(600);

/// A queue with both its ends.
pub(crate) trait Queue: Producer + Consumer {}

impl<T: Producer + Consumer> Queue for T {}

/// Does nothing but notice when it was last asked to.
struct LastCall(Mutex<Instant>);

#[async_trait]
impl Handler for LastCall {
    async fn handle(&self, _: &SubBatch) -> Result<(), HandlerError> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        Ok(())
    }
}

pub(crate) fn embedded() -> anyhow::Result<Figure> {
    let folder = tempfile::tempdir()?;
    let [mine, bare] = embedded_queues(folder.path())?;
    let measured = measure(&mine, &bare, SUB_BATCHES, EVENTS, ROUNDS)?;
    Ok(figure("drain_embedded", &measured))
}

/// Microseconds an event by events in a sub-batch, on the embedded queue.
pub(crate) fn by_events() -> anyhow::Result<Vec<Line>> {
    let folder = tempfile::tempdir()?;
    let [mine, bare] = embedded_queues(folder.path())?;
    let (mut ours, mut limit) = (Vec::new(), Vec::new());
    for events in [1usize, 3, 10, 30, 100, 300, 1000] {
        let measured = measure(&mine, &bare, 100, events, 5)?;
        ours.push((float(events), us_each(100 * events, measured.part)));
        limit.push((float(events), us_each(100 * events, measured.limit)));
    }
    Ok(vec![Line::new("drain", ours), Line::new("bare receive and delete", limit)])
}

fn embedded_queues(folder: &Path) -> anyhow::Result<[EmbeddedQueue; 2]> {
    let stream = stream()?;
    let open = |name: &str| EmbeddedQueue::open(&folder.join(name), [&stream], Arc::new(SystemClock));
    Ok([open("mine.db")?, open("bare.db")?])
}

fn stream() -> anyhow::Result<StreamName> {
    Ok(StreamName::new("s")?)
}

pub(crate) fn measure<Q: Queue + Clone + 'static>(
    mine: &Q,
    bare: &Q,
    sub_batches: usize,
    events: usize,
    count: usize,
) -> anyhow::Result<Rounds> {
    let (runtime, stream) = (runtime()?, stream()?);
    let registry = Arc::new(Registry::define([Stream::json_schema("s", json!({}))])?);
    let last = Arc::new(LastCall(Mutex::new(Instant::now())));
    let consumer = EventConsumer::builder(registry, Arc::new(mine.clone()))
        .handler_for_the_rest(Arc::clone(&last) as Arc<dyn Handler>)
        .build()?;
    let part = || {
        fill(&runtime, mine, &stream, sub_batches, events);
        let started = Instant::now();
        let report = runtime.block_on(consumer.drain_once(BUDGET)).expect("a pass");
        assert_eq!(report.delivered, sub_batches as u64);
        *last.0.lock().unwrap_or_else(PoisonError::into_inner) - started
    };
    let limit = || {
        fill(&runtime, bare, &stream, sub_batches, events);
        let started = Instant::now();
        let (delivered, last) = runtime.block_on(receive_and_delete(bare, &stream));
        assert_eq!(delivered, sub_batches);
        last - started
    };
    Ok(rounds(count, part, limit))
}

/// The least that could be called a drain: one message after the other, as a handler would take them.
async fn receive_and_delete(queue: &dyn Consumer, stream: &StreamName) -> (usize, Instant) {
    let (mut delivered, mut last) = (0, Instant::now());
    loop {
        let got = queue.receive(stream, 10, LEASE, Duration::from_secs(1)).await.expect("a receive");
        if got.is_empty() {
            return (delivered, last);
        }
        for delivery in got {
            last = Instant::now();
            for outcome in queue.ack(stream, vec![delivery.receipt]).await {
                outcome.map_err(|unsettled| unsettled.error).expect("an ack");
            }
            delivered += 1;
        }
    }
}

fn fill(runtime: &Runtime, queue: &dyn Queue, stream: &StreamName, sub_batches: usize, events: usize) {
    let events: Vec<String> = (0..events as u128)
        .map(|n| event_text(&uuid::Uuid::from_u128(n).to_string(), "1", &[].into(), r#"{"n":1}"#))
        .collect();
    let message = Message::new(body_text(stream, &events));
    let outcomes = runtime.block_on(queue.enqueue(stream, &vec![message; sub_batches]));
    assert!(outcomes.iter().all(Result::is_ok));
}

pub(crate) fn figure(name: &'static str, measured: &Rounds) -> Figure {
    Figure {
        name,
        value: rate(SUB_BATCHES * EVENTS, measured.part),
        unit: "events/s",
        ratio: Some(measured.ratio),
        reach: Reach::AtMost(1.2),
        spread: Some(measured.spread),
        note: format!("{:.2?} for 100,000 events; bare loop {:.2?}", measured.part, measured.limit),
    }
}

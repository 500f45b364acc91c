//! Drain of the embedded queue, against a bare receive and delete loop.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use eventlane_consumer::{EventConsumer, Handler, HandlerError, SubBatch};
use eventlane_contracts::{Registry, Stream, StreamName, SystemClock, body_text, event_text};
use eventlane_queue::{Consumer as _, EmbeddedQueue, Message, Producer as _};
use serde_json::json;

use crate::ingest::runtime;
use crate::measure::{rate, rounds};
use crate::report::Figure;

/// Sub-batches of one round, of 100 events each; the rounds together drain 100,000 events.
const SUB_BATCHES: usize = 200;

const ROUNDS: usize = 5;

const LEASE: Duration = Duration::from_secs(60);

/// No limit here. The poll of a second that finds nothing, with which both end, isn't counted: time
/// runs to the last sub-batch.
const BUDGET: Duration = Duration::from_secs(600);

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
    let runtime = runtime()?;
    let registry = Arc::new(Registry::define([Stream::json_schema("s", json!({}))])?);
    let stream = StreamName::new("s")?;
    let (mine, bare) = (open(folder.path(), "mine.db", &stream)?, open(folder.path(), "bare.db", &stream)?);
    let last = Arc::new(LastCall(Mutex::new(Instant::now())));
    let consumer = EventConsumer::builder(registry, Arc::new(mine.clone()))
        .handler_for_the_rest(Arc::clone(&last) as Arc<dyn Handler>)
        .build()?;
    let part = || {
        runtime.block_on(fill(&mine, &stream));
        let started = Instant::now();
        let report = runtime.block_on(consumer.drain_once(BUDGET)).expect("a pass");
        assert_eq!(report.delivered, SUB_BATCHES as u64);
        *last.0.lock().unwrap_or_else(PoisonError::into_inner) - started
    };
    let limit = || {
        runtime.block_on(fill(&bare, &stream));
        let started = Instant::now();
        let (delivered, last) = runtime.block_on(receive_and_delete(&bare, &stream));
        assert_eq!(delivered, SUB_BATCHES);
        last - started
    };
    let measured = rounds(ROUNDS, part, limit);
    Ok(Figure {
        name: "drain_embedded",
        value: rate(SUB_BATCHES * 100, measured.part),
        unit: "events/s",
        ratio: Some(measured.ratio),
        reach: "<= 1.2",
        spread: Some(measured.spread),
    })
}

/// The least that could be called a drain.
async fn receive_and_delete(queue: &EmbeddedQueue, stream: &StreamName) -> (usize, Instant) {
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

fn open(folder: &Path, name: &str, stream: &StreamName) -> anyhow::Result<EmbeddedQueue> {
    Ok(EmbeddedQueue::open(&folder.join(name), [stream], Arc::new(SystemClock))?)
}

async fn fill(queue: &EmbeddedQueue, stream: &StreamName) {
    let events: Vec<String> = (0..100)
        .map(|n| event_text(&uuid::Uuid::from_u128(n).to_string(), "1", &[].into(), r#"{"n":1}"#))
        .collect();
    let message = Message::new(body_text(stream, &events));
    let outcomes = queue.enqueue(stream, &vec![message; SUB_BATCHES]).await;
    assert!(outcomes.iter().all(Result::is_ok));
}

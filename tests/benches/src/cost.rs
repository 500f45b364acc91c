//! What a million events cost: a model of measured durations, bytes and calls; prices and what only
//! AWS decides are inputs (`prices.json`, with their date).

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::ensure;
use eventlane_contracts::wire::EVENTS_PATH;
use eventlane_contracts::{StreamName, body_bytes, event_text};
use eventlane_outbox::{Credentials, FlushOptions, Flusher, HttpTransport, Outbox, OutboxOptions};
use eventlane_testkit::server::LocalServer;

use crate::append::PAYLOAD;
use crate::measure::{float, median_of};
use crate::plot::Line;
use crate::report::{Figure, Reach};
use crate::{drain_sqs, ingest};

/// Events of a batch where nothing else is said.
const BATCH: usize = 200;

/// Prices, and what the model can't measure here.
#[derive(Debug, serde::Deserialize)]
struct Prices {
    as_of: String,
    region: String,
    gateway_per_million_requests: f64,
    gateway_request_bytes: f64,
    lambda_per_million_requests: f64,
    lambda_per_gb_second: f64,
    sqs_per_million_requests: f64,
    sqs_request_bytes: f64,
    dynamodb_per_million_writes: f64,
    dynamodb_write_bytes: f64,
    /// Of both functions.
    memory_mb: f64,
    /// Memory at which a function has one whole core.
    one_core_mb: f64,
    /// Round trip of a call to SQS inside the region.
    sqs_call_ms: f64,
}

/// Dollars for a million events, part by part.
#[derive(Debug, Clone, Copy)]
struct Cost {
    gateway: f64,
    ingest: f64,
    queue: f64,
    drain: f64,
    archive: f64,
}

impl Cost {
    /// From the gateway to the handler's door; the archive is the handler's.
    fn lane(&self) -> f64 {
        self.gateway + self.ingest + self.queue + self.drain
    }
}

/// What was measured for batches of one size, all of one stream.
struct Measured {
    events: usize,
    ingest: Duration,
    drain: Duration,
    body_bytes: usize,
    message_bytes: usize,
    event_bytes: usize,
}

pub(crate) fn cost() -> anyhow::Result<Vec<Figure>> {
    let prices = prices()?;
    let mut figures = vec![figure("cost", &prices, BATCH, format!("{BATCH} events a batch"))?];
    for (name, linger) in [("cost_linger_on", None), ("cost_linger_off", Some(Duration::ZERO))] {
        let posted = batches(linger)?;
        let mean = posted.iter().sum::<usize>().div_ceil(posted.len().max(1));
        let note =
            format!("an event each 20 ms on average: {mean} a batch (mean of {} batches)", posted.len());
        figures.push(figure(name, &prices, mean, note)?);
    }
    Ok(figures)
}

fn figure(name: &'static str, prices: &Prices, events: usize, what: String) -> anyhow::Result<Figure> {
    let cost = model(prices, &measure(events)?);
    let Cost { gateway, ingest, queue, drain, archive } = cost;
    Ok(Figure {
        name,
        value: cost.lane(),
        unit: "$ a million events",
        ratio: None,
        reach: Reach::Stated,
        spread: None,
        note: format!(
            "{what}: gateway {gateway:.3}, ingest {ingest:.3}, queue {queue:.3}, drain {drain:.3}; the shipped \
             archive adds {archive:.3} ({}, {})",
            prices.region, prices.as_of
        ),
    })
}

/// Dollars a million events by events in a batch.
pub(crate) fn by_batch() -> anyhow::Result<Vec<Line>> {
    let prices = prices()?;
    let mut costs = Vec::new();
    for events in [1usize, 3, 10, 30, 100, 300, 1000] {
        costs.push((float(events), model(&prices, &measure(events)?)));
    }
    let line = |name: &str, part: fn(&Cost) -> f64| {
        Line::new(name, costs.iter().map(|(events, cost)| (*events, part(cost))))
    };
    Ok(vec![
        line("gateway to handler", Cost::lane),
        line("gateway", |cost| cost.gateway),
        line("ingest function", |cost| cost.ingest),
        line("queue", |cost| cost.queue),
        line("drain function", |cost| cost.drain),
    ])
}

fn prices() -> anyhow::Result<Prices> {
    Ok(serde_json::from_str(include_str!("../prices.json"))?)
}

fn measure(events: usize) -> anyhow::Result<Measured> {
    let (runtime, door, token) = (ingest::runtime()?, ingest::door()?, ingest::token());
    let body = ingest::issue_batch(events);
    let requests = (2000 / events).clamp(1, 200);
    let took = median_of(15, || ingest::post_all(&runtime, &door, &token, &body, events, requests));
    let identity = [("viewerId".to_owned(), "u1".to_owned())].into();
    let event_bytes =
        event_text(&uuid::Uuid::nil().to_string(), "1764518400000000", &identity, PAYLOAD).len();
    Ok(Measured {
        events,
        ingest: took / u32::try_from(requests)?,
        drain: drain_sqs::sub_batch(events)?,
        body_bytes: body.len(),
        message_bytes: body_bytes(&StreamName::new("issue_viewed")?, vec![event_bytes; events]),
        event_bytes,
    })
}

fn model(prices: &Prices, measured: &Measured) -> Cost {
    let Measured { events, ingest, drain, body_bytes, message_bytes, event_bytes } = measured;
    let batches = 1e6 / float(*events);
    let chunks = |bytes: usize, chunk: f64| (float(bytes) / chunk).ceil().max(1.0);
    // A function of little memory has a part of a core, and waits for SQS besides.
    let slower = (prices.one_core_mb / prices.memory_mb).max(1.0);
    let gb_seconds = |seconds: f64| seconds * prices.memory_mb / 1024.0 * prices.lambda_per_gb_second;
    let ingest_s = ingest.as_secs_f64() * slower + prices.sqs_call_ms / 1e3;
    // Ten messages a receive, and each is deleted by itself.
    let drain_s = drain.as_secs_f64() * slower + prices.sqs_call_ms / 1e3 * 1.1;
    // Sent once, received once; a receive of ten is charged by its bytes too. Deleted once.
    let chunk = chunks(*message_bytes, prices.sqs_request_bytes);
    let received = (chunks(*message_bytes * 10, prices.sqs_request_bytes) / 10.0).max(0.1);
    Cost {
        gateway: batches
            * chunks(*body_bytes, prices.gateway_request_bytes)
            * prices.gateway_per_million_requests
            / 1e6,
        ingest: batches * (prices.lambda_per_million_requests / 1e6 + gb_seconds(ingest_s)),
        queue: batches * (chunk + received + 1.0) * prices.sqs_per_million_requests / 1e6,
        // A pass takes many sub-batches; its invocation is shared.
        drain: batches * gb_seconds(drain_s),
        archive: chunks(*event_bytes, prices.dynamodb_write_bytes) * prices.dynamodb_per_million_writes,
    }
}

/// Events of each batch that a driver posted while an app appended for a few seconds: on average one in
/// 20 ms, at irregular times.
fn batches(linger: Option<Duration>) -> anyhow::Result<Vec<usize>> {
    let server = LocalServer::start(ingest::door()?);
    let folder = tempfile::tempdir()?;
    let registry = Arc::new(eventlane_lane::registry()?);
    let outbox = Outbox::open(folder.path().join("outbox.db"), registry, OutboxOptions::default())?;
    let transport = Arc::new(HttpTransport::new(&format!("{}{EVENTS_PATH}", server.url()))?);
    let token = ingest::token();
    let tokens = move |_: bool| Ok(Credentials::bearer(token.clone()));
    let options = FlushOptions { linger, ..FlushOptions::default() };
    let flusher = Flusher::new(outbox.clone(), options, transport, Arc::new(tokens))?;
    let posted = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&posted);
    let _subscription = flusher.on_batch(move |batch| {
        let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.push(usize::try_from(batch.posted).unwrap_or(usize::MAX));
    });
    let driver = flusher.start()?;
    let mut random = fastrand::Rng::with_seed(7);
    const APPENDS: usize = 250;
    for _ in 0..APPENDS {
        outbox.append_json("issue_viewed", PAYLOAD)?;
        std::thread::sleep(Duration::from_micros(random.u64(0..40_000)));
    }
    let _ = driver.stop(Duration::from_secs(5));
    flusher.flush()?;
    let posted = posted.lock().unwrap_or_else(PoisonError::into_inner).clone();
    ensure!(posted.iter().sum::<usize>() == APPENDS, "every event is posted once");
    Ok(posted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_twice_as_large_costs_less_an_event_and_large_messages_pay_by_the_chunk() {
        let prices = prices().unwrap();
        let measured = |events: usize| Measured {
            events,
            ingest: Duration::from_millis(1),
            drain: Duration::from_millis(1),
            body_bytes: events * 180,
            message_bytes: events * 180,
            event_bytes: 180,
        };
        let (one, two) = (model(&prices, &measured(100)), model(&prices, &measured(200)));
        assert!((one.gateway / two.gateway - 2.0).abs() < 1e-9 && one.lane() > two.lane());
        // 100 events are 18,000 bytes: a tenth of three chunks to receive, one to send, one to delete.
        let requests = one.queue * 1e6 / prices.sqs_per_million_requests / (1e6 / 100.0);
        assert!((requests - 2.3).abs() < 1e-9, "{requests}");
        assert!((one.archive - prices.dynamodb_per_million_writes).abs() < 1e-9);
    }
}

//! The proof that a backlog costs nothing: batches out of 1,000 rows against batches out of 1,000,000.
//!
//! `cargo xtask soak outbox` runs it. It fails when assembly takes more than twice as long, or when the
//! process has ever held 64 MiB.
#![expect(clippy::print_stdout, reason = "a proof is printed")]

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use eventlane_contracts::{Registry, Stream};
use eventlane_outbox::rusqlite::Connection;
use eventlane_outbox::{
    Credentials, Durability, FlushCore, FlushOptions, Outbox, OutboxOptions, StreamTuning, Task,
};
use serde_json::json;

/// Rows of the two backlogs.
const SMALL: i64 = 1_000;
const LARGE: i64 = 1_000_000;
const STREAMS: i64 = 10;
/// Rows that ride: as many as the small backlog has ready in each mix.
const BATCH: usize = 100;
/// Times each assembly is measured; the median counts.
const ROUNDS: usize = 101;
/// The most that the large backlog may cost, as a multiple of the small one's.
const MOST: f64 = 2.0;
const MOST_MIB: u64 = 64;

/// What a backlog is made of: in ten rows, how many wait and how many are another account's.
const MIXES: [(&str, i64, i64); 3] =
    [("all ready", 0, 0), ("90 % waiting", 9, 0), ("90 % of another account", 0, 9)];

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let mut is_fine = true;
    for (at, (mix, waiting, others)) in MIXES.into_iter().enumerate() {
        let mut medians = Vec::new();
        for rows in [SMALL, LARGE] {
            let outbox = open(&folder.path().join(format!("{at}-{rows}.db")))?;
            let path = folder.path().join(format!("{at}-{rows}.db"));
            fill(&Connection::open(&path)?, rows, waiting, others)?;
            medians.push(median(&outbox)?);
        }
        let [small, large] = medians[..] else { return Err("two backlogs have two medians".into()) };
        let ratio = large.as_secs_f64() / small.as_secs_f64();
        is_fine &= ratio <= MOST;
        println!(
            "{mix}: {small:?} of {SMALL} rows, {large:?} of {LARGE} rows, ratio {ratio:.2} (at most {MOST})"
        );
    }
    match highest_mib() {
        Some(mib) => {
            is_fine &= mib < MOST_MIB;
            println!("resident memory at its highest: {mib} MiB (below {MOST_MIB})");
        }
        None => println!("resident memory: this system doesn't say"),
    }
    if is_fine { Ok(()) } else { Err("a backlog costs more than it may".into()) }
}

fn open(path: &std::path::Path) -> Result<Outbox, Box<dyn Error>> {
    let schema = || json!({"type": "object", "properties": {"n": {}}, "additionalProperties": false});
    let streams = (0..STREAMS).map(|n| Stream::json_schema(&format!("stream_{n}"), schema()));
    let registry = Arc::new(Registry::define(streams)?);
    let options = OutboxOptions { durability: Durability::Normal, ..OutboxOptions::default() };
    Ok(Outbox::open(path, registry, options)?)
}

fn fill(connection: &Connection, rows: i64, waiting: i64, others: i64) -> Result<(), Box<dyn Error>> {
    connection.execute(
        "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?1) \
         INSERT INTO eventlane_outbox (event_id, stream, occurred_at_us, payload, enqueued_at_us, \
             next_retry_at_us, account) \
         SELECT printf('%08d-0000-7000-8000-%012d', i, i), 'stream_' || (i / 10 % 10), 1, \
             printf('{\"n\":\"%0100d\"}', i), 1, \
             CASE WHEN i % 10 < ?2 THEN ?4 END, CASE WHEN i % 10 < ?3 THEN 'other' END FROM n",
        (rows, waiting, others, soon_us()),
    )?;
    Ok(())
}

/// Within the longest backoff, so that no clock seems to have jumped.
fn soon_us() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_micros()).unwrap_or(0) + 86_000_000_000
}

/// The median time from credentials to the batch to post.
fn median(outbox: &Outbox) -> Result<Duration, Box<dyn Error>> {
    let fair = StreamTuning { batch_size: Some(15), ..StreamTuning::default() };
    let streams = (0..STREAMS).map(|n| (format!("stream_{n}"), fair)).collect();
    let mut options = FlushOptions { batch_size: Some(BATCH), streams, ..FlushOptions::default() };
    options.backoff.ceiling = Some(Duration::from_secs(86_400));
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let mut core = FlushCore::new(outbox.clone(), &options)?;
        let Task::Authorize { .. } = core.next_task()? else { return Err("nothing is pending".into()) };
        let began = Instant::now();
        core.on_credentials(Ok(Credentials::anonymous()))?;
        let Task::Post(post) = core.next_task()? else { return Err("nothing is ready".into()) };
        times.push(began.elapsed());
        drop(post);
    }
    times.sort();
    times.get(ROUNDS / 2).copied().ok_or_else(|| "nothing was measured".into())
}

/// The most memory that was ever resident.
fn highest_mib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib / 1024)
}

//! Assembly of a batch out of a large backlog, against a small one.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;
use eventlane_contracts::{Registry, Stream};
use eventlane_outbox::{
    BackoffTuning, Credentials, Durability, FlushCore, FlushOptions, Outbox, OutboxOptions, StreamTuning,
    Task,
};
use rusqlite::Connection;
use serde_json::json;

use crate::measure::{Rounds, float, median_of, rounds, time};
use crate::plot::Line;
use crate::report::{Figure, Reach};

const SMALL: usize = 1_000;

const LARGE: usize = 1_000_000;

const STREAMS: usize = 10;

/// Rows that ride: as many as the small backlog has ready in each mix.
const BATCH: usize = 100;

/// Places of one stream in a batch: fewer than its ready rows, so that every cap bites.
const CAP: usize = 15;

const ROUNDS: usize = 101;

/// Within the longest backoff, so that no clock seems to have jumped.
const LONGEST: Duration = Duration::from_secs(86_400);

/// What a backlog is made of: in ten rows, how many wait and how many are another account's.
#[derive(Debug, Clone, Copy)]
struct Mix {
    name: &'static str,
    waiting: usize,
    others: usize,
}

const MIXES: [Mix; 3] = [
    Mix { name: "all ready", waiting: 0, others: 0 },
    Mix { name: "90 % waiting", waiting: 9, others: 0 },
    Mix { name: "90 % another account's", waiting: 0, others: 9 },
];

pub(crate) fn backlog() -> anyhow::Result<Figure> {
    let folder = tempfile::tempdir()?;
    let mut worst: Option<(Mix, Rounds)> = None;
    for (at, mix) in MIXES.into_iter().enumerate() {
        let small = filled(&folder.path().join(format!("{at}-small.db")), SMALL, mix)?;
        let large = filled(&folder.path().join(format!("{at}-large.db")), LARGE, mix)?;
        let measured = rounds(
            ROUNDS,
            || assemble(&large).expect("a batch of the large backlog"),
            || assemble(&small).expect("a batch of the small backlog"),
        );
        if worst.as_ref().is_none_or(|(_, worst)| worst.ratio < measured.ratio) {
            worst = Some((mix, measured));
        }
    }
    let Some((mix, measured)) = worst else { bail!("there is no mix") };
    Ok(Figure {
        name: "assembly_backlog",
        value: measured.part.as_secs_f64() * 1e6,
        unit: "µs a batch of 100",
        ratio: Some(measured.ratio),
        reach: Reach::AtMost(2.0),
        spread: Some(measured.spread),
        note: format!("worst mix: {}; {:.0?} out of 1,000 rows", mix.name, measured.limit),
    })
}

/// Microseconds a batch by rows of the backlog, a line a mix.
pub(crate) fn by_backlog() -> anyhow::Result<Vec<Line>> {
    let mut lines = Vec::new();
    for (at, mix) in MIXES.into_iter().enumerate() {
        let folder = tempfile::tempdir()?;
        let mut points = Vec::new();
        for rows in [SMALL, 10_000, 100_000, LARGE] {
            let outbox = filled(&folder.path().join(format!("{at}-{rows}.db")), rows, mix)?;
            let took = median_of(51, || assemble(&outbox).expect("a batch"));
            points.push((float(rows), took.as_secs_f64() * 1e6));
        }
        lines.push(Line::new(mix.name, points));
    }
    Ok(lines)
}

/// The time from credentials to the batch to post.
fn assemble(outbox: &Outbox) -> anyhow::Result<Duration> {
    let fair = StreamTuning { batch_size: Some(CAP), ..StreamTuning::default() };
    let options = FlushOptions {
        batch_size: Some(BATCH),
        streams: (0..STREAMS).map(|n| (format!("stream_{n}"), fair)).collect(),
        backoff: BackoffTuning { ceiling: Some(LONGEST), ..BackoffTuning::default() },
        ..FlushOptions::default()
    };
    let mut core = FlushCore::new(outbox.clone(), &options)?;
    let Task::Authorize { .. } = core.next_task()? else { bail!("nothing is pending") };
    let mut next = None;
    let took = time(|| {
        core.on_credentials(Ok(Credentials::anonymous()))?;
        next = Some(core.next_task()?);
        Ok::<(), eventlane_outbox::FlushError>(())
    });
    let Some(Task::Post(_)) = next else { bail!("nothing is ready") };
    Ok(took)
}

fn filled(path: &Path, rows: usize, mix: Mix) -> anyhow::Result<Outbox> {
    let schema = || json!({"type": "object", "properties": {"n": {}}, "additionalProperties": false});
    let streams = (0..STREAMS).map(|n| Stream::json_schema(&format!("stream_{n}"), schema()));
    let registry = Arc::new(Registry::define(streams)?);
    let options = OutboxOptions { durability: Durability::Normal, ..OutboxOptions::default() };
    let outbox = Outbox::open(path, registry, options)?;
    let soon = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)? + LONGEST
        - Duration::from_secs(400);
    Connection::open(path)?.execute(
        "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?1) \
         INSERT INTO eventlane_outbox (event_id, stream, occurred_at_us, payload, enqueued_at_us, \
             next_retry_at_us, account) \
         SELECT printf('%08d-0000-7000-8000-%012d', i, i), 'stream_' || (i / 10 % 10), 1, \
             printf('{\"n\":\"%0100d\"}', i), 1, \
             CASE WHEN i % 10 < ?2 THEN ?4 END, CASE WHEN i % 10 < ?3 THEN 'other' END FROM n",
        (rows, mix.waiting, mix.others, i64::try_from(soon.as_micros())?),
    )?;
    Ok(outbox)
}

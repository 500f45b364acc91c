//! How the figures grow with events, streams, payload size and backlog: one chart each.

use std::path::Path;

use anyhow::Context;

#[cfg(feature = "aws")]
use crate::cost;
use crate::plot::{Chart, Line};
use crate::{append, assembly, drain, flush, ingest, relay};

/// A chart: its file, its texts, what draws its lines.
type Growth = (&'static str, [&'static str; 3], fn() -> anyhow::Result<Vec<Line>>);

const ALL: &[Growth] = &[
    (
        "ingest-by-events",
        ["Ingest by events in a batch", "events in a batch", "µs an event"],
        ingest::by_events,
    ),
    (
        "ingest-by-streams",
        ["Ingest by streams in a batch", "streams in a batch of 1,000 events", "µs an event"],
        ingest::by_streams,
    ),
    (
        "ingest-by-payload",
        ["Ingest by payload size", "bytes of a payload", "µs an event"],
        ingest::by_payload,
    ),
    (
        "append-by-payload",
        ["Append by payload size", "bytes of a payload", "µs an event"],
        append::by_payload,
    ),
    (
        "append-by-threads",
        ["Append by threads", "threads", "events a second, all threads"],
        append::by_threads,
    ),
    (
        "assembly-by-backlog",
        ["Assembly by backlog", "rows in the outbox", "µs a batch of 100"],
        assembly::by_backlog,
    ),
    ("flush-by-backlog", ["Flush by backlog", "rows in the outbox", "µs an event"], flush::by_backlog),
    (
        "drain-by-events",
        ["Drain of the embedded queue by sub-batch", "events in a sub-batch", "µs an event"],
        drain::by_events,
    ),
    ("relay-by-rows", ["Relay by backlog", "pending rows", "µs a row"], relay::by_rows),
    #[cfg(feature = "aws")]
    ("cost-by-batch", ["Cost by batch size", "events in a batch", "$ a million events"], cost::by_batch),
];

/// Measures and draws every chart into `folder`.
pub(crate) fn draw(folder: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
    for &(file, [title, x, y], measure) in ALL {
        let lines = measure().with_context(|| format!("measure {file}"))?;
        if lines.is_empty() {
            continue;
        }
        let path = folder.join(file).with_extension("svg");
        let svg = Chart { title, x, y, lines: &lines }.svg();
        std::fs::write(&path, svg).with_context(|| format!("write {}", path.display()))?;
        println!("drew {}", path.display());
    }
    Ok(())
}

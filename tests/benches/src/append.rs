//! Append, against a raw prepared insert and commit: the same table, indexes and pragmas, and none of
//! the triggers that keep our counters.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use eventlane_outbox::{DDL, Durability, Outbox, OutboxOptions};
use rusqlite::Connection;

use crate::measure::{Rounds, median_of, rate, rounds, time, us_each};
use crate::plot::Line;
use crate::report::{Figure, Reach};

pub(crate) const PAYLOAD: &str = r#"{"issueId":"b48b36ee-0d62-4382-8f6b-17f0b6b3bd77"}"#;

/// Appends in a round.
const APPENDS: usize = 320;

const ROUNDS: usize = 31;

const THREADS: usize = 16;

/// Where a commit costs less there is nothing to share.
const COSTLY: Duration = Duration::from_micros(300);

pub(crate) fn full() -> anyhow::Result<Figure> {
    alone("append_full", Durability::Full)
}

pub(crate) fn normal() -> anyhow::Result<Figure> {
    alone("append_normal", Durability::Normal)
}

fn alone(name: &'static str, durability: Durability) -> anyhow::Result<Figure> {
    let folder = tempfile::tempdir()?;
    let outbox = open(folder.path(), durability)?;
    let raw = raw(folder.path(), durability)?;
    let part = || append(&outbox, APPENDS);
    let mut number = 0u128;
    let limit = || {
        time(|| {
            for _ in 0..APPENDS {
                number += 1;
                insert(&raw, number).expect("a raw insert");
            }
        })
    };
    let measured = rounds(ROUNDS, part, limit);
    let note = format!(
        "{:.1} µs an append; raw insert and commit {:.1} µs",
        us_each(APPENDS, measured.part),
        us_each(APPENDS, measured.limit)
    );
    Ok(figure(name, Reach::AtMost(1.15), &measured, Some(measured.ratio), note))
}

/// Sixteen threads against one, as a ratio of rates.
pub(crate) fn group() -> anyhow::Result<Figure> {
    let folder = tempfile::tempdir()?;
    let outbox = open(folder.path(), Durability::Full)?;
    let part = || threads(&outbox, THREADS);
    let measured = rounds(ROUNDS, part, || append(&outbox, APPENDS));
    let commit = measured.limit / u32::try_from(APPENDS).unwrap_or(u32::MAX);
    let ratio = (commit >= COSTLY).then(|| 1.0 / measured.ratio);
    let note = match ratio {
        Some(_) => format!("a commit costs {commit:.0?}"),
        None => format!("n/a: a commit costs {commit:.0?} here, below {COSTLY:.0?}"),
    };
    let mut figure = figure("append_group", Reach::AtLeast(6.0), &measured, ratio, note);
    // The spread of the rates' ratio, not of the times'.
    figure.spread = ratio.map(|ratio| measured.spread * ratio * ratio);
    Ok(figure)
}

fn threads(outbox: &Outbox, threads: usize) -> Duration {
    time(|| {
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| append(outbox, APPENDS / threads));
            }
        });
    })
}

/// Events a second by threads.
pub(crate) fn by_threads() -> anyhow::Result<Vec<Line>> {
    let mut lines = Vec::new();
    for (name, durability) in [("Full", Durability::Full), ("Normal", Durability::Normal)] {
        let folder = tempfile::tempdir()?;
        let outbox = open(folder.path(), durability)?;
        let points = [1usize, 2, 4, 8, 16, 32].map(|count| {
            let took = median_of(9, || threads(&outbox, count));
            (crate::measure::float(count), rate(APPENDS, took))
        });
        lines.push(Line::new(name, points));
    }
    Ok(lines)
}

/// Microseconds an append by payload bytes, beside the raw insert.
pub(crate) fn by_payload() -> anyhow::Result<Vec<Line>> {
    let folder = tempfile::tempdir()?;
    let schema = serde_json::json!({"type": "string"});
    let streams = [eventlane_contracts::Stream::json_schema("note", schema)];
    let registry = Arc::new(eventlane_contracts::Registry::define(streams)?);
    let options = OutboxOptions { durability: Durability::Normal, ..OutboxOptions::default() };
    let outbox = Outbox::open(folder.path().join("outbox.db"), registry, options)?;
    let raw = raw(folder.path(), Durability::Normal)?;
    let (mut ours, mut bare, mut number) = (Vec::new(), Vec::new(), 0u128);
    for bytes in [64usize, 256, 1024, 4096, 16_384, 65_536] {
        let text = format!("\"{}\"", "x".repeat(bytes - 2));
        let measured = rounds(
            9,
            || time(|| (0..64).for_each(|_| drop(outbox.append_json("note", &text).expect("an append")))),
            || {
                time(|| {
                    for _ in 0..64 {
                        number += 1;
                        insert_text(&raw, number, &text).expect("a raw insert");
                    }
                })
            },
        );
        ours.push((crate::measure::float(bytes), us_each(64, measured.part)));
        bare.push((crate::measure::float(bytes), us_each(64, measured.limit)));
    }
    Ok(vec![Line::new("append, Normal", ours), Line::new("raw insert and commit", bare)])
}

/// The hot path alone, for counting its instructions: in memory of the page cache, one thread.
pub(crate) fn repeat(times: usize) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let outbox = open(folder.path(), Durability::Normal)?;
    append(&outbox, times);
    Ok(())
}

fn append(outbox: &Outbox, count: usize) -> Duration {
    time(|| {
        for _ in 0..count {
            outbox.append_json("issue_viewed", PAYLOAD).expect("an append");
        }
    })
}

fn figure(name: &'static str, reach: Reach, measured: &Rounds, ratio: Option<f64>, note: String) -> Figure {
    let spread = Some(measured.spread);
    Figure { name, value: rate(APPENDS, measured.part), unit: "events/s", ratio, reach, spread, note }
}

fn open(folder: &Path, durability: Durability) -> anyhow::Result<Outbox> {
    let options = OutboxOptions { durability, ..OutboxOptions::default() };
    Ok(Outbox::open(folder.join("outbox.db"), Arc::new(eventlane_lane::registry()?), options)?)
}

/// The outbox's table and indexes with the pragmas that an outbox sets.
pub(crate) fn raw(folder: &Path, durability: Durability) -> anyhow::Result<Connection> {
    let connection = Connection::open(folder.join("raw.db"))?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    let synchronous = match durability {
        Durability::Full => "FULL",
        Durability::Normal => "NORMAL",
    };
    connection.pragma_update(None, "synchronous", synchronous)?;
    let table_and_indexes = DDL.find("CREATE TRIGGER").and_then(|at| DDL.get(..at)).unwrap_or(DDL);
    connection.execute_batch(table_and_indexes)?;
    Ok(connection)
}

fn insert(connection: &Connection, number: u128) -> rusqlite::Result<usize> {
    insert_text(connection, number, PAYLOAD)
}

fn insert_text(connection: &Connection, number: u128, payload: &str) -> rusqlite::Result<usize> {
    let now = 1_764_518_400_000_000i64;
    connection
        .prepare_cached(
            "INSERT INTO eventlane_outbox (event_id, stream, occurred_at_us, payload, enqueued_at_us) \
             VALUES (?1, 'issue_viewed', ?2, ?3, ?2)",
        )?
        .execute((uuid::Uuid::from_u128(number).to_string(), now, payload))
}

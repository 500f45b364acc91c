//! Append, against a raw prepared insert and commit on the same table with the same pragmas.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use eventlane_outbox::{DDL, Durability, Outbox, OutboxOptions};
use rusqlite::Connection;

use crate::measure::{Rounds, rate, rounds, time};
use crate::report::Figure;

const PAYLOAD: &str = r#"{"issueId":"b48b36ee-0d62-4382-8f6b-17f0b6b3bd77"}"#;

/// Appends in a round.
const APPENDS: usize = 500;

const ROUNDS: usize = 15;

const THREADS: usize = 16;

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
    Ok(figure(name, "<= 1.15", &measured, Some(measured.ratio)))
}

/// Sixteen threads against one, as a ratio of rates. Where a commit is nearly free there is nothing
/// to share.
pub(crate) fn group() -> anyhow::Result<Figure> {
    let folder = tempfile::tempdir()?;
    let outbox = open(folder.path(), Durability::Full)?;
    let part = || {
        time(|| {
            std::thread::scope(|scope| {
                for _ in 0..THREADS {
                    scope.spawn(|| append(&outbox, APPENDS / THREADS));
                }
            });
        })
    };
    let mut commits = Vec::new();
    let limit = || {
        let took = append(&outbox, APPENDS / THREADS * THREADS);
        commits.push(took / u32::try_from(APPENDS).unwrap_or(u32::MAX));
        took
    };
    let measured = rounds(ROUNDS, part, limit);
    commits.sort_unstable();
    let costs = commits[commits.len() / 2] >= Duration::from_micros(300);
    Ok(figure("append_group", ">= 6", &measured, costs.then(|| 1.0 / measured.ratio)))
}

fn append(outbox: &Outbox, count: usize) -> Duration {
    time(|| {
        for _ in 0..count {
            outbox.append_json("issue_viewed", PAYLOAD).expect("an append");
        }
    })
}

fn figure(name: &'static str, reach: &'static str, measured: &Rounds, ratio: Option<f64>) -> Figure {
    let spread = Some(measured.spread);
    Figure { name, value: rate(APPENDS, measured.part), unit: "events/s", ratio, reach, spread }
}

fn open(folder: &Path, durability: Durability) -> anyhow::Result<Outbox> {
    let options = OutboxOptions { durability, ..OutboxOptions::default() };
    Ok(Outbox::open(folder.join("outbox.db"), Arc::new(eventlane_lane::registry()?), options)?)
}

fn raw(folder: &Path, durability: Durability) -> anyhow::Result<Connection> {
    let connection = Connection::open(folder.join("raw.db"))?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    let synchronous = match durability {
        Durability::Full => "FULL",
        Durability::Normal => "NORMAL",
    };
    connection.pragma_update(None, "synchronous", synchronous)?;
    connection.execute_batch(DDL)?;
    Ok(connection)
}

fn insert(connection: &Connection, number: u128) -> rusqlite::Result<usize> {
    let now = 1_764_518_400_000_000i64;
    connection
        .prepare_cached(
            "INSERT INTO eventlane_outbox (event_id, stream, occurred_at_us, payload, enqueued_at_us) \
             VALUES (?1, 'issue_viewed', ?2, ?3, ?2)",
        )?
        .execute((uuid::Uuid::from_u128(number).to_string(), now, PAYLOAD))
}

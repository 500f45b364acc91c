//! Where every event of the soak is, as sets of ids.

use std::collections::BTreeSet;

use eventlane_consumer::SqliteArchive;
use eventlane_contracts::{MessageBody, Stream, SystemClock};
use eventlane_queue::Consumer;
use rusqlite::{Connection, OpenFlags};
use serde_json::json;

use super::{Plan, is_poison};
use crate::hooks::say;

/// Event ids that a report names at most.
const NAMED: usize = 20;

pub(super) async fn left(plan: &Plan) -> anyhow::Result<()> {
    let registry = Plan::registry()?;
    let queue = plan.queue(&registry)?;
    let mut left = 0;
    for stream in registry.streams().map(Stream::name) {
        let counts = queue.counts(stream).await?;
        left += counts.waiting + counts.in_flight;
    }
    say(&left.to_string())
}

pub(super) async fn run(plan: &Plan) -> anyhow::Result<()> {
    let registry = Plan::registry()?;
    let queue = plan.queue(&registry)?;
    let (mut dead, mut copies) = (BTreeSet::new(), 0_usize);
    // A kill fell between a part's copy and its original's ack.
    let mut twice = BTreeSet::new();
    for stream in registry.streams().map(Stream::name) {
        for letter in queue.dead_letters(stream, usize::try_from(u32::MAX)?).await?.letters {
            let body: MessageBody = serde_json::from_str(&letter.body)?;
            copies += body.events.len();
            for event in body.events {
                if let Some(again) = dead.replace(event.event_id) {
                    twice.insert(again);
                }
            }
        }
    }
    let path = plan.data.join("archive.db");
    SqliteArchive::open(&path, std::sync::Arc::new(SystemClock))?;
    let archive = Connection::open_with_flags(&path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let rows: Vec<String> = archive
        .prepare("SELECT event_id FROM events")?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let archived: BTreeSet<String> = rows.iter().cloned().collect();
    let all: BTreeSet<String> = (0..plan.events).map(|number| plan.event_id(number)).collect();
    let poison: BTreeSet<String> =
        (0..plan.events).filter(|&number| is_poison(number)).map(|number| plan.event_id(number)).collect();
    let lost: Vec<&String> = all.iter().filter(|id| !archived.contains(*id) && !dead.contains(*id)).collect();
    let both: Vec<&String> = archived.intersection(&dead).collect();
    let report = json!({
        "events": all.len(),
        "archived": archived.len(),
        "archived_rows": rows.len(),
        "dead_lettered": dead.len(),
        "dead_letter_copies": copies,
        "dead_lettered_twice_ids": twice.iter().take(NAMED).collect::<Vec<_>>(),
        "lost": lost.len(),
        "in_both": both.len(),
        "in_both_ids": both.iter().take(NAMED).collect::<Vec<_>>(),
        "lost_ids": lost.iter().take(NAMED).collect::<Vec<_>>(),
        "poison": poison.len(),
        "poison_archived": poison.intersection(&archived).count(),
        "sound_dead_lettered": dead.difference(&poison).count(),
        "unknown": archived.union(&dead).filter(|id| !all.contains(*id)).count(),
    });
    say(&report.to_string())
}

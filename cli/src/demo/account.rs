//! The accounts: where every event is, from the files of the lane, as sets of ids.

use std::collections::BTreeSet;
use std::fmt;

use eventlane_contracts::MessageBody;
use eventlane_outbox::PENDING_SQL;
use rusqlite::{Connection, OpenFlags};

use crate::demo::app::Sent;
use crate::folder::DataFolder;
use crate::local_lane::LocalLane;

/// Counts of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Summary {
    /// Events the app appended.
    pub(crate) appended: u64,
    /// Events the server acked.
    pub(crate) acked: u64,
    /// Events the gate refused.
    pub(crate) refused: u64,
    /// Events the server rejected.
    pub(crate) rejected: u64,
    /// Events that wait in the outbox.
    pub(crate) deferred: u64,
    /// Distinct events the handler archived.
    pub(crate) delivered: u64,
    /// Distinct events in dead letters.
    pub(crate) dead_lettered: u64,
    /// Handler calls for an event beyond its first.
    pub(crate) redelivered: u64,
    /// Events that are nowhere.
    pub(crate) lost: u64,
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "appended: {}\n  acked: {}\n    delivered: {} (redelivered: {})\n    dead-lettered: {}\n  \
             refused: {}\n  rejected: {}\n  deferred: {}\nlost: {}",
            self.appended,
            self.acked,
            self.delivered,
            self.redelivered,
            self.dead_lettered,
            self.refused,
            self.rejected,
            self.deferred,
            self.lost
        )
    }
}

/// Looks everywhere an event may be. An event that several places hold is counted in each, so the
/// sums of the caller would show it.
pub(crate) async fn of(folder: &DataFolder, lane: &LocalLane, sent: &Sent) -> anyhow::Result<Summary> {
    let outbox = Connection::open_with_flags(folder.outbox(), OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let archive = Connection::open_with_flags(folder.archive(), OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let waiting = ids(&outbox, &format!("SELECT event_id FROM ({PENDING_SQL})"))?;
    let archived = ids(&archive, "SELECT event_id FROM events")?;
    let dead = dead_ids(lane).await?;
    let redelivered: u64 = archive.query_row(
        "SELECT count(*) - count(DISTINCT stream || ' ' || event_id) FROM handler_calls",
        [],
        |row| row.get(0),
    )?;
    let lost = sent.appended.iter().filter(|id| {
        ![&waiting, &archived, &dead, &sent.refused, &sent.rejected].iter().any(|place| place.contains(*id))
    });
    Ok(Summary {
        appended: sent.appended.len() as u64,
        acked: sent.acked,
        refused: sent.refused.len() as u64,
        rejected: sent.rejected.len() as u64,
        deferred: waiting.len() as u64,
        delivered: archived.len() as u64,
        dead_lettered: dead.len() as u64,
        redelivered,
        lost: lost.count() as u64,
    })
}

fn ids(database: &Connection, sql: &str) -> rusqlite::Result<BTreeSet<String>> {
    database.prepare(sql)?.query_map([], |row| row.get(0))?.collect()
}

async fn dead_ids(lane: &LocalLane) -> anyhow::Result<BTreeSet<String>> {
    let mut ids = BTreeSet::new();
    for letter in lane.dead_letters().await? {
        let body: MessageBody = serde_json::from_str(&letter.body)?;
        ids.extend(body.events.into_iter().map(|event| event.event_id));
    }
    Ok(ids)
}

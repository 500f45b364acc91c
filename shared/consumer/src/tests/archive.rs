//! The local archive: first write wins, a sub-batch whole or not at all.

use eventlane_contracts::{MessageBody, QueuedEvent, SystemClock};

use super::*;
use crate::{Archive, ArchiveError, EraseIdentity, Erased, SqliteArchive, Stored};

fn event(id: &str, who: &str, payload: &str) -> QueuedEvent {
    let identity = [("who".to_owned(), who.to_owned())].into();
    let body = body_text(&name("s1"), &[event_text(id, "17", &identity, payload)]);
    serde_json::from_str::<MessageBody>(&body).unwrap().events.remove(0)
}

#[tokio::test]
async fn the_first_write_wins_and_identity_is_part_of_the_key() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("archive.db");
    let archive = SqliteArchive::open(&path, Arc::new(SystemClock)).unwrap();
    let s1 = name("s1");
    let stored = archive.store(&s1, &[event("a", "u1", "1.10"), event("a", "u1", "1.10")]).await.unwrap();
    assert_eq!(stored, Stored { new: 1, duplicates: 1, conflicts: 0 });
    let again = [event("a", "u1", "2"), event("a", "u2", "3"), event("b", "u1", "1E2")];
    let stored = archive.store(&s1, &again).await.unwrap();
    assert_eq!(stored, Stored { new: 2, duplicates: 0, conflicts: 1 });
    let other = archive.store(&name("s2"), &[event("a", "u1", "9")]).await.unwrap();
    assert_eq!(other.new, 1);

    let raw = rusqlite::Connection::open(&path).unwrap();
    let mut rows = raw
        .prepare("SELECT stream, event_id, identity, occurred_at_us, payload FROM events ORDER BY 1, 2, 3")
        .unwrap();
    let rows: Vec<(String, String, String, i64, String)> = rows
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?)))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    let row = |stream: &str, id: &str, who: &str, payload: &str| {
        (stream.into(), id.into(), format!(r#"{{"who":"{who}"}}"#), 17, payload.into())
    };
    let expected = [
        row("s1", "a", "u1", "1.10"),
        row("s1", "a", "u2", "3"),
        row("s1", "b", "u1", "1E2"),
        row("s2", "a", "u1", "9"),
    ];
    assert_eq!(rows, expected);
}

#[tokio::test]
async fn one_identity_is_erased_and_nobody_elses_and_a_dry_run_erases_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let archive = SqliteArchive::open(&folder.path().join("archive.db"), Arc::new(SystemClock)).unwrap();
    let streams = ["s1", "s2", "s3"].map(name);
    for stream in &streams {
        archive
            .store(stream, &[event("a", "u1", "1"), event("b", "u1", "1"), event("a", "u2", "1")])
            .await
            .unwrap();
    }
    let who = [("who".to_owned(), "u1".to_owned())].into();
    let dry = archive.erase(&streams[..2], &who, false).await.unwrap();
    assert_eq!(dry, Erased { found: 4, erased: 0 });
    assert_eq!(archive.erase(&streams[..2], &who, true).await.unwrap(), Erased { found: 4, erased: 4 });
    assert_eq!(archive.erase(&streams, &who, true).await.unwrap(), Erased { found: 2, erased: 2 });
    let other = [("who".to_owned(), "u2".to_owned())].into();
    assert_eq!(archive.erase(&streams, &other, false).await.unwrap().found, 3);
    let more = [("who".to_owned(), "u2".to_owned()), ("team".to_owned(), "t".to_owned())].into();
    assert_eq!(archive.erase(&streams, &more, true).await.unwrap(), Erased::default(), "every field counts");
    let none = archive.erase(&streams, &Default::default(), true).await.unwrap_err();
    assert_eq!(none, ArchiveError("no identity is named".into()));
}

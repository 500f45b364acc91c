//! A6: destroy, backup, diagnostics, and why a row is still here.

use std::time::Duration;

use super::*;

#[test]
fn destroy_refuses_while_anything_is_pending_and_says_what() {
    let rig = Rig::with(
        OutboxOptions { acked_retention: Duration::from_secs(100), ..OutboxOptions::default() },
        tuned(10),
    );
    let first = rig.append("a", 1);
    rig.flush();
    let ids = rig.append("b", 2);
    rig.append("a", 1);
    let error = rig.outbox.destroy(Pending::Refuse).unwrap_err();
    assert_eq!(
        error.to_string(),
        "events are pending (a: 1, b: 2): flush or discard them, or say that they may be lost"
    );
    assert_eq!(rig.rows().len(), 4, "nothing is deleted");
    rig.flush();
    assert_eq!(rig.outbox.destroy(Pending::Refuse).unwrap(), 4, "a ledger row never blocks");
    assert!(rig.path().exists() && rig.rows().is_empty(), "the file may be another handle's too");
    let next = rig.outbox.append("a", &json!({})).unwrap();
    assert_eq!(next.seq, 5, "no number is given twice: {first:?} {ids:?}");
    assert_eq!(rig.outbox.destroy(Pending::Lose).unwrap(), 1);
    assert!(rig.outbox.status().unwrap().empty);
}

#[test]
fn a_backup_made_while_appending_is_private_and_simply_flushes() {
    let rig = Rig::new();
    let before = rig.append("a", 50);
    let copy = rig.folder.path().join("copy.db");
    std::thread::scope(|scope| {
        scope.spawn(|| rig.append("b", 500));
        rig.outbox.backup(&copy).unwrap();
    });
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(std::fs::metadata(&copy).unwrap().permissions().mode() & 0o777, 0o600);
    }
    assert_eq!(rig.outbox.backup(&copy).unwrap_err().tag(), "file", "never over another file");
    rig.flush();
    rig.server.reset();
    let restored = Outbox::open(&copy, registry(), OutboxOptions::default()).unwrap();
    flusher(&restored, tuned(100), &rig.server).flush().unwrap();
    assert!(set(&rig.server.ids()).is_superset(&set(&before)), "the same ids again: dedupe is by them");
}

#[test]
fn a_failed_backup_leaves_no_half_made_file() {
    let rig = Rig::new();
    rig.append("a", 1);
    let nowhere = rig.folder.path().join("no/such/copy.db");
    assert_eq!(rig.outbox.backup(&nowhere).unwrap_err().tag(), "file");
    let copy = rig.folder.path().join("copy.db");
    std::fs::write(rig.path(), "garbage".repeat(10_000)).unwrap();
    for side in ["-wal", "-shm"] {
        drop(std::fs::remove_file(crate::open::beside(&rig.path(), side)));
    }
    assert_eq!(rig.outbox.backup(&copy).unwrap_err().tag(), "store");
    assert!(!copy.exists());
}

#[test]
fn diagnostics_tell_the_state_and_nothing_of_what_is_in_it() {
    let rig = Rig::with(
        OutboxOptions { acked_retention: Duration::from_secs(100), ..OutboxOptions::default() },
        tuned(10),
    );
    rig.append("a", 1);
    rig.flush();
    rig.append("a", 2);
    rig.server.behave(|seen| verdicts(seen.ids.iter().map(|id| (id, "deferred"))));
    rig.flush();
    rig.outbox.set_account(Some("s3cret-account".to_owned()));
    rig.outbox.append("b", &json!({"s": "s3cret"})).unwrap();
    rig.sql().execute("UPDATE eventlane_outbox SET stream = 'gone' WHERE seq = 3", []).unwrap();
    let found = rig.outbox.diagnostics().unwrap();
    assert_eq!((found.pending_rows, found.acked_rows, found.accounts), (3, 1, 2));
    assert_eq!((found.pending_bytes, found.schema_version), (28, SCHEMA_VERSION));
    let streams: Vec<_> = found
        .streams
        .iter()
        .map(|stream| {
            (stream.stream.as_str(), stream.ready, stream.waiting, stream.parked, stream.is_registered)
        })
        .collect();
    assert_eq!(streams, [("a", 0, 1, 0, true), ("b", 1, 0, 0, true), ("gone", 0, 1, 0, false)]);
    assert!(found.has_consent && found.retry_after_until_us.is_none() && found.file_bytes > 0);
    let text = format!("{found:?} {}", serde_json::to_string(&found).unwrap());
    assert!(!text.contains("s3cret"));
}

#[test]
fn why_a_row_is_still_here() {
    let rig = Rig::with(
        OutboxOptions { acked_retention: Duration::from_secs(100), ..OutboxOptions::default() },
        tuned(10),
    );
    let id = rig.append("a", 1).remove(0);
    let why = || rig.outbox.why(&id).unwrap();
    assert_eq!(why(), Some(Why::Ready));
    rig.server.behave(|_| {
        Some(Ok(PostResponse { status: 503, retry_after: Some("60".to_owned()), date: None, body: vec![] }))
    });
    rig.flush();
    assert_eq!(why(), Some(Why::RetryAfter { rest: Duration::from_secs(60) }));
    rig.clock.advance(Duration::from_secs(60));
    rig.server.behave(|_| status(500));
    rig.flush();
    assert!(matches!(why(), Some(Why::BackingOff { fault: LaneFault::Status(500), .. })), "{:?}", why());
    rig.clock.advance(Duration::from_secs(300));
    assert_eq!(why(), Some(Why::Ready));
    rig.server.behave(|seen| verdicts(seen.ids.iter().map(|id| (id, "deferred"))));
    rig.flush();
    let Some(Why::Deferred { reason, attempts: 1, rest }) = why() else { panic!("{:?}", why()) };
    assert!(reason == "because" && !rest.is_zero());
    assert!(why().unwrap().to_string().starts_with("deferred after 1 attempts, again in "));
    rig.clock.advance(Duration::from_secs(300));
    rig.server.behave(|_| status(400));
    rig.flush();
    assert!(matches!(why(), Some(Why::Parked { attempts: 2, .. })), "{:?}", why());
    rig.clock.advance(Duration::from_secs(300));
    rig.server.reset();
    rig.flush();
    assert!(matches!(why(), Some(Why::Acked { .. })));
    assert_eq!(rig.outbox.why("nobody").unwrap(), None);
    rig.outbox.set_account(Some("ann".to_owned()));
    let anns = rig.append("a", 1).remove(0);
    assert_eq!(rig.outbox.why(&anns).unwrap(), Some(Why::OtherAccount));
    rig.sql().execute("INSERT INTO eventlane_meta VALUES ('consent_withdrawn', 1)", []).unwrap();
    assert_eq!(rig.outbox.why(&anns).unwrap(), Some(Why::ConsentWithdrawn));
}

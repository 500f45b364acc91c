//! A1, A2: what is refused, what is stored, and that concurrent appends keep their own outcomes.

use std::collections::BTreeSet;

use eventlane_contracts::Registry;

use super::*;

#[test]
fn refusals_come_in_order_and_store_nothing() {
    let rig = Rig::new();
    let error = |stream: &str, text: &str| rig.outbox.append_json(stream, text).unwrap_err();
    let unknown = error("nobody", "{oops");
    assert_eq!(unknown.to_string(), "stream \"nobody\" is unknown; known are a, b, c");
    for (text, tag) in [
        ("{oops", "invalid"),
        (r#"{"n":1,"n":2}"#, "invalid"),
        (r#"{"s":"\ud800"}"#, "invalid"),
        (r#"{"n":"x"}"#, "invalid"),
        (&format!("{{\"v\":{}1{}}}", "[".repeat(64), "]".repeat(64)), "invalid"),
        (&format!("{{\"s\":\"{}\"}}", "x".repeat(65_536)), "too_large"),
    ] {
        let error = error("a", text);
        assert_eq!(error.tag(), tag, "{error}");
        assert!(!error.is_retryable());
    }
    assert!(rig.rows().is_empty());
    let empty = tempfile::tempdir().unwrap();
    let none = Arc::new(Registry::define([]).unwrap());
    let outbox = Outbox::open(empty.path().join("o.db"), none, OutboxOptions::default()).unwrap();
    assert_eq!(outbox.append_json("a", "{}").unwrap_err().tag(), "no_streams");
}

/// C19.
#[test]
fn the_size_is_the_compacted_texts_in_bytes() {
    let rig = Rig::new();
    let fits = format!("{{ \"s\" : \"{}\" }}", "é".repeat((65_536 - 8) / 2));
    assert!(rig.outbox.append_json("a", &fits).is_ok());
    let over = format!("{{\"s\":\"{}x\"}}", "é".repeat((65_536 - 8) / 2));
    assert!(
        matches!(
            rig.outbox.append_json("a", &over),
            Err(AppendError::TooLarge { actual: 65_537, limit: 65_536, .. })
        ),
        "one byte more"
    );
}

#[test]
fn json_text_is_kept_literally_and_a_value_as_it_serialises() {
    let rig = Rig::new();
    rig.outbox
        .append_json("a", "{ \"v\" : [ 1.10, 1E2, -0.0, 12345678901234567890123, \"\\u00e9 x\" ] }")
        .unwrap();
    rig.outbox.append("a", &json!({"n": 7})).unwrap();
    rig.flush();
    assert_eq!(
        rig.server.seen()[0].payloads,
        ["{\"v\":[1.10,1E2,-0.0,12345678901234567890123,\"\\u00e9 x\"]}", "{\"n\":7}"]
    );
}

#[test]
fn an_append_stamps_a_sortable_id_a_time_and_a_number_never_given_twice() {
    let rig = Rig::new();
    let first = rig.outbox.append("a", &json!({})).unwrap();
    rig.flush();
    let second = rig.outbox.append("a", &json!({})).unwrap();
    assert!(second.seq > first.seq, "the first row's number is gone with it");
    let id = uuid::Uuid::parse_str(&first.event_id).unwrap();
    assert_eq!(id.get_version_num(), 7);
    assert_eq!(id.to_string(), first.event_id);
}

#[test]
fn a_batch_of_texts_has_an_outcome_each() {
    let rig = Rig::new();
    let texts = (0..2_500).map(|n| if n % 1000 == 3 { "{oops".to_owned() } else { format!("{{\"n\":{n}}}") });
    let outcomes = rig.outbox.append_all("a", texts).unwrap();
    let failed: Vec<usize> =
        outcomes.iter().enumerate().filter(|(_, outcome)| outcome.is_err()).map(|(at, _)| at).collect();
    assert_eq!((outcomes.len(), failed), (2_500, vec![3, 1003, 2003]));
    let seqs: Vec<i64> = outcomes.iter().flatten().map(|appended| appended.seq).collect();
    assert!(seqs.is_sorted() && rig.outbox.pending().unwrap() == 2_497);
    assert!(rig.outbox.append_all("nobody", ["{}"]).is_err());
    assert!(rig.outbox.append_all("a", Vec::<String>::new()).unwrap().is_empty());
}

#[test]
fn concurrent_appends_are_all_stored_once_and_in_each_threads_order() {
    let rig = Rig::new();
    let per_thread: Vec<Vec<Appended>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| (0..50).map(|n| rig.outbox.append("a", &json!({"n": n})).unwrap()).collect())
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for appended in &per_thread {
        assert!(appended.is_sorted_by_key(|appended| appended.seq));
    }
    let ids: BTreeSet<String> =
        per_thread.iter().flatten().map(|appended| appended.event_id.clone()).collect();
    assert_eq!(ids.len(), 400);
    assert_eq!(ids, rig.stored_ids());
}

/// C08.
#[test]
fn a_full_disk_is_a_typed_error_and_the_next_append_works_once_there_is_space() {
    let rig = Rig::new();
    let big = format!("{{\"s\":\"{}\"}}", "x".repeat(60_000));
    {
        let writer = rig.outbox.inner.writer();
        let pages: i64 = writer.query_row("PRAGMA page_count", [], |row| row.get(0)).unwrap();
        writer.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(())).unwrap();
    }
    let error = rig.outbox.append_json("a", &big).unwrap_err();
    assert!(error.is_retryable() && error.tag() == "store", "{error}");
    rig.outbox.inner.writer().pragma_update_and_check(None, "max_page_count", 1_000_000, |_| Ok(())).unwrap();
    rig.outbox.append_json("a", &big).unwrap();
    assert_eq!(rig.rows().len(), 1);
}

#[test]
fn a_file_of_a_newer_build_is_refused_and_left_alone() {
    let rig = Rig::new();
    rig.append("a", 1);
    rig.sql().execute("UPDATE eventlane_meta SET value = 99 WHERE key = 'schema_version'", []).unwrap();
    let error = Outbox::open(rig.path(), registry(), OutboxOptions::default()).unwrap_err();
    assert!(matches!(error, OpenError::Newer { found: 99, known: SCHEMA_VERSION }));
    assert_eq!(rig.rows().len(), 1);
}

#[test]
fn a_folder_that_isnt_there_is_a_typed_error() {
    let folder = tempfile::tempdir().unwrap();
    let nowhere = folder.path().join("no/such/folder.db");
    assert_eq!(Outbox::open(nowhere, registry(), OutboxOptions::default()).unwrap_err().tag(), "file");
}

#[cfg(unix)]
#[test]
fn nobody_else_can_read_the_files() {
    use std::os::unix::fs::PermissionsExt as _;
    let rig = Rig::new();
    rig.append("a", 1);
    rig.flush();
    for file in std::fs::read_dir(rig.folder.path()).unwrap() {
        let file = file.unwrap();
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{:?}", file.file_name());
    }
}

#[test]
fn the_status_is_told_at_once_and_on_each_change_until_dropped() {
    let rig = Rig::new();
    let told = Arc::new(Mutex::new(Vec::new()));
    let record = Arc::clone(&told);
    let subscription = rig.outbox.on_status(move |status| record.lock().unwrap().push(status.empty)).unwrap();
    rig.append("a", 2);
    rig.append("a", 2);
    rig.flush();
    rig.flush();
    rig.append("a", 1);
    drop(subscription);
    rig.flush();
    assert_eq!(*told.lock().unwrap(), [true, false, true, false]);
    assert!(rig.outbox.status().unwrap().empty);
}

#[test]
fn the_status_is_never_empty_in_the_end_while_rows_are_pending() {
    let rig = Rig::new();
    let last = Arc::new(Mutex::new(true));
    let (record, outbox) = (Arc::clone(&last), rig.outbox.clone());
    let once = std::sync::atomic::AtomicBool::new(false);
    let _subscription = rig
        .outbox
        .on_status(move |status| {
            *record.lock().unwrap() = status.empty;
            // A hook may append, in the very moment in which "empty" is told.
            if status.empty && once.swap(true, std::sync::atomic::Ordering::SeqCst) {
                outbox.append("a", &json!({})).unwrap();
            }
        })
        .unwrap();
    rig.append("a", 1);
    rig.flush();
    assert_eq!(rig.rows().len(), 1);
    assert!(!*last.lock().unwrap());
    std::thread::scope(|scope| {
        scope.spawn(|| (0..200).for_each(|_| drop(rig.append("a", 1))));
        (0..200).for_each(|_| drop(rig.flush()));
    });
    assert_eq!(*last.lock().unwrap(), rig.outbox.status().unwrap().empty);
}

#[test]
fn a_hook_may_own_a_subscription_of_the_same_list() {
    let rig = Rig::new();
    let inner = Mutex::new(rig.flusher.on_report(|_| {}));
    let outer = rig.flusher.on_report(move |_| {
        let _kept = &inner;
    });
    drop(outer);
}

#[cfg(unix)]
#[test]
fn a_link_and_another_working_folder_lead_to_the_same_lock() {
    let rig = Rig::new();
    rig.append("a", 1);
    let link = rig.folder.path().join("link.db");
    std::os::unix::fs::symlink(rig.path(), &link).unwrap();
    let linked = Outbox::open(&link, registry(), OutboxOptions::default()).unwrap();
    assert_eq!(linked.inner.path, rig.outbox.inner.path);
    assert!(linked.inner.path.is_absolute());
    linked.append("a", &json!({})).unwrap();
    assert_eq!(rig.flush().acked, 2);
}

#[test]
fn escapes_and_characters_are_counted_in_bytes_as_the_server_counts() {
    // C19: two-byte characters, and the same as escapes, up to the limit and one byte over.
    let rig = Rig::new();
    for (piece, bytes) in [("é", 2), ("\\u00e9", 6)] {
        let text = |spare: usize| {
            let pieces = (65_536 - 8) / bytes;
            let rest = (65_536 - 8) % bytes + spare;
            format!("{{\"s\":\"{}{}\"}}", piece.repeat(pieces), "x".repeat(rest))
        };
        assert_eq!(text(0).len(), 65_536);
        rig.outbox.append_json("a", &text(0)).unwrap();
        assert_eq!(rig.outbox.append_json("a", &text(1)).unwrap_err().tag(), "too_large");
    }
}

#[test]
fn concurrent_appends_share_one_commit() {
    // A2: a clock that never shows the same time twice; each commit reads it once.
    struct Ticks(std::sync::atomic::AtomicI64);
    impl eventlane_contracts::Clock for Ticks {
        fn now_us(&self) -> i64 {
            self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst)
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(Ticks(1_760_000_000_000_000.into()));
    let options = OutboxOptions { clock, ..OutboxOptions::default() };
    let outbox = Outbox::open(folder.path().join("outbox.db"), registry(), options).unwrap();
    let sql = rusqlite::Connection::open(folder.path().join("outbox.db")).unwrap();
    sql.execute_batch("BEGIN IMMEDIATE").unwrap();
    std::thread::scope(|scope| {
        // The first leads, and waits for the lock; the others wait for it.
        let threads: Vec<_> =
            (0..8).map(|_| scope.spawn(|| outbox.append("a", &json!({})).unwrap())).collect();
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(8);
        while outbox.inner.group.waiting() < 7 {
            assert!(std::time::Instant::now() < deadline && threads.len() == 8);
            std::thread::yield_now();
        }
        sql.execute_batch("ROLLBACK").unwrap();
    });
    let commits: (i64, i64) = sql
        .query_row("SELECT count(*), count(DISTINCT enqueued_at_us) FROM eventlane_outbox", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .unwrap();
    assert_eq!(commits, (8, 2), "one for the first, one for all others");
}

#[test]
fn what_happens_while_somebody_subscribes_is_told_too() {
    let rig = Rig::new();
    let (outbox, told) = (rig.outbox.clone(), Arc::new(Mutex::new(Vec::new())));
    let record = Arc::clone(&told);
    let _early = rig.outbox.on_status(|_| {}).unwrap();
    let _late = rig
        .outbox
        .on_status(move |status| {
            record.lock().unwrap().push(status.empty);
            if record.lock().unwrap().len() == 1 {
                outbox.append("a", &json!({})).unwrap();
            }
        })
        .unwrap();
    assert_eq!(*told.lock().unwrap(), [true, false]);
}

#[test]
fn an_append_that_a_pass_has_sent_already_is_not_told_as_waiting() {
    let rig = Rig::new();
    let told = Arc::new(Mutex::new(Vec::new()));
    let record = Arc::clone(&told);
    let _status = rig.outbox.on_status(move |status| record.lock().unwrap().push(status.empty)).unwrap();
    // An append whose thread is held up between its commit and its word, while a pass sends the row.
    rig.outbox.inner.stored();
    assert_eq!(*told.lock().unwrap(), [true]);
}

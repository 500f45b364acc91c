//! A6, A7, A8: bounds, consent, discard, accounts that come later.

use super::*;

fn bounded(rows: Option<u64>, payload_bytes: Option<u64>) -> Rig {
    let bounds = Bounds { rows, payload_bytes };
    Rig::with(OutboxOptions { bounds, ..OutboxOptions::default() }, tuned(10))
}

#[test]
fn at_a_bound_append_says_so_and_nothing_is_dropped() {
    let rig = bounded(Some(3), None);
    let texts = (0..5).map(|n| format!("{{\"n\":{n}}}"));
    let outcomes = rig.outbox.append_all("a", texts).unwrap();
    let stored: Vec<bool> = outcomes.iter().map(Result::is_ok).collect();
    assert_eq!(stored, [true, true, true, false, false], "each its own outcome");
    let error = outcomes[4].as_ref().unwrap_err();
    assert_eq!(error.to_string(), "outbox holds 3 of 3 rows: flush, discard, or raise the bound");
    assert!(error.is_retryable() && error.tag() == "full");
    assert_eq!(rig.rows().len(), 3);
    rig.flush();
    rig.append("a", 3);
}

#[test]
fn payload_bytes_are_counted_as_stored() {
    let rig = bounded(None, Some(20));
    rig.outbox.append_json("a", "{ \"s\" : \"éé\" }").unwrap(); // 12 bytes once compacted
    rig.outbox.append_json("a", "{\"n\":12}").unwrap();
    let error = rig.outbox.append_json("a", "{}").unwrap_err();
    assert!(
        matches!(error, AppendError::Full { bound: Bound::PayloadBytes, limit: 20, pending: 20 }),
        "{error}"
    );
    rig.sql().execute("DELETE FROM eventlane_outbox WHERE seq = 1", []).unwrap();
    rig.outbox.append_json("a", "{}").unwrap();
}

#[test]
fn the_count_holds_over_handles_transactions_and_the_ledger() {
    let bounds = Bounds { rows: Some(4), payload_bytes: None };
    let retention = std::time::Duration::from_secs(1000);
    let options = OutboxOptions { bounds, acked_retention: retention, ..OutboxOptions::default() };
    let rig = Rig::with(options.clone(), tuned(10));
    let other = Outbox::open(rig.path(), registry(), options).unwrap();
    rig.append("a", 2);
    other.append("a", &json!({})).unwrap();
    let mut sql = rig.sql();
    let transaction = sql.transaction().unwrap();
    rig.outbox.append_in(&transaction, "a", &json!({})).unwrap();
    assert_eq!(rig.outbox.append_in(&transaction, "a", &json!({})).unwrap_err().tag(), "full");
    transaction.commit().unwrap();
    assert_eq!(other.append("a", &json!({})).unwrap_err().tag(), "full");
    assert_eq!(rig.flush().acked, 4);
    assert_eq!((rig.rows().len(), other.pending().unwrap()), (4, 0), "ledger rows are not pending");
    rig.append("a", 4);
    rig.outbox.destroy(Pending::Lose).unwrap();
    assert_eq!(other.pending().unwrap(), 0);
}

/// Whether what is counted and what is behind make up what is there.
fn assert_counted(rig: &Rig) {
    let there = "SELECT count(*), coalesce(sum(length(CAST(payload AS BLOB))), 0) \
         FROM eventlane_outbox WHERE acked_at_us IS NULL";
    let there: (u64, u64) = rig.sql().query_row(there, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    let found = crate::count::pending(&rig.sql()).unwrap();
    assert_eq!((found.rows, found.payload_bytes), there);
    let counted = "SELECT count(*) FROM eventlane_outbox WHERE acked_at_us IS NULL AND seq <= ?1";
    let seq = meta(&rig.sql(), "counted_seq");
    let counted: i64 = rig.sql().query_row(counted, [seq], |row| row.get(0)).unwrap();
    assert_eq!(meta(&rig.sql(), "pending_rows"), counted);
}

#[test]
fn rows_are_counted_in_parts_and_the_parts_make_up_the_whole() {
    let bounds = Bounds { rows: Some(1_000), payload_bytes: None };
    let retention = std::time::Duration::from_secs(1000);
    let rig =
        Rig::with(OutboxOptions { bounds, acked_retention: retention, ..OutboxOptions::default() }, tuned(7));
    for round in 1..=5 {
        for _ in 0..29 {
            rig.append("a", 1);
            assert_counted(&rig);
        }
        let last: i64 =
            rig.sql().query_row("SELECT max(seq) FROM eventlane_outbox", [], |row| row.get(0)).unwrap();
        let counted = meta(&rig.sql(), "counted_seq");
        assert!(counted > 0 && counted < last, "rows before it and behind it: {counted} of {last}");
        // Of either part: one removed by another's hand, a batch stamped, one discarded.
        for seq in [counted - round, last - round] {
            rig.sql().execute("DELETE FROM eventlane_outbox WHERE seq = ?1", [seq]).unwrap();
        }
        assert_counted(&rig);
        let mut posts = 0;
        rig.server.behave(move |_| {
            posts += 1;
            if posts == 2 { status(503) } else { None }
        });
        assert_eq!(rig.flush().acked, 7);
        assert_counted(&rig);
        rig.clock.advance(std::time::Duration::from_secs(10));
    }
}

#[test]
fn a_question_walks_a_long_backlog_once() {
    let rig = Rig::new();
    rig.append("a", 1_500);
    assert_eq!((rig.outbox.pending().unwrap(), meta(&rig.sql(), "counted_seq")), (1_500, 1_500));
    rig.append("a", 10);
    assert_eq!((rig.outbox.pending().unwrap(), meta(&rig.sql(), "counted_seq")), (1_510, 1_500));
    rig.sql().execute("DELETE FROM eventlane_outbox WHERE seq IN (7, 1505)", []).unwrap();
    assert_eq!(rig.outbox.pending().unwrap(), 1_508);
    // Lost counters count nothing, and are made again.
    rig.sql()
        .execute("DELETE FROM eventlane_meta WHERE key LIKE 'pending%' OR key = 'counted_seq'", [])
        .unwrap();
    assert_eq!((rig.outbox.pending().unwrap(), meta(&rig.sql(), "pending_rows")), (1_508, 1_508));
}

#[test]
fn a_pass_that_leaves_a_long_backlog_counts_it() {
    let rig = Rig::new();
    rig.append("a", 1_500);
    rig.server.behave(|_| status(503));
    rig.flush();
    assert_eq!((meta(&rig.sql(), "counted_seq"), meta(&rig.sql(), "pending_rows")), (1_500, 1_500));
}

#[test]
fn discard_removes_what_it_is_told_and_says_how_much() {
    let rig = Rig::new();
    rig.append("a", 1500);
    let ids = rig.append("b", 4);
    rig.outbox.set_account(Some(String::new()));
    rig.append("c", 2);
    let ids: Vec<&str> = ids[..2].iter().map(String::as_str).collect();
    assert_eq!(rig.outbox.discard(Discard::Stream("a")).unwrap(), 1500);
    assert_eq!(rig.outbox.discard(Discard::Ids(&[ids[0], ids[1], ids[0], "nobody"])).unwrap(), 2);
    assert_eq!(rig.outbox.discard(Discard::Account(Some(""))).unwrap(), 2);
    assert_eq!(rig.outbox.discard(Discard::Account(Some("ann"))).unwrap(), 0);
    assert!(!rig.outbox.status().unwrap().empty);
    assert_eq!(rig.outbox.discard(Discard::All).unwrap(), 2);
    assert!(rig.outbox.status().unwrap().empty && rig.rows().is_empty());
}

#[test]
fn a_row_discarded_while_its_batch_is_under_way_takes_no_later_row_with_it() {
    let rig = Rig::new();
    rig.append("a", 2);
    let (outbox, late) = (rig.outbox.clone(), Arc::new(Mutex::new(None)));
    let record = Arc::clone(&late);
    rig.server.behave(move |_| {
        // Discard waits for its connection only between two batches: here a hook of the pass is running.
        let sql = rusqlite::Connection::open(&outbox.inner.path).unwrap();
        sql.execute("DELETE FROM eventlane_outbox", []).unwrap();
        *record.lock().unwrap() = Some(outbox.append("a", &json!({})).unwrap().event_id);
        status(500)
    });
    rig.flush();
    assert_eq!(rig.stored_ids(), BTreeSet::from([late.lock().unwrap().clone().unwrap()]));
}

#[test]
fn withdrawn_consent_discards_and_stops_appends_of_every_handle_even_after_a_restart() {
    let rig = Rig::new();
    let other = Outbox::open(rig.path(), registry(), OutboxOptions::default()).unwrap();
    rig.append("a", 3);
    assert!(rig.outbox.has_consent().unwrap());
    assert_eq!(rig.outbox.set_consent(false).unwrap(), 3);
    let error = other.append("a", &json!({})).unwrap_err();
    assert!(error.tag() == "consent_withdrawn" && !error.is_retryable());
    let again = Outbox::open(rig.path(), registry(), OutboxOptions::default()).unwrap();
    assert!(!again.has_consent().unwrap());
    assert_eq!(again.append("a", &json!({})).unwrap_err().tag(), "consent_withdrawn");
    assert_eq!(again.set_consent(true).unwrap(), 0);
    rig.append("a", 1);
}

#[test]
fn what_a_crash_left_after_consent_was_withdrawn_is_never_sent() {
    let rig = Rig::new();
    rig.append("a", 3);
    rig.sql().execute("INSERT INTO eventlane_meta VALUES ('consent_withdrawn', 1)", []).unwrap();
    let report = rig.flush();
    assert_eq!((report.requests, rig.server.seen().len(), rig.rows().len()), (0, 0, 0));
}

#[test]
fn signed_out_rows_wait_until_they_are_claimed() {
    let rig = Rig::new();
    rig.outbox.set_account(Some(String::new()));
    let ids = rig.append("a", 3);
    rig.outbox.set_account(Some("bob".to_owned()));
    rig.append("a", 1);
    let as_account = |account: &'static str| {
        let tokens = Arc::new(move |_| Ok(Credentials::bearer("T").for_account(account)));
        let transport: Arc<dyn Transport> = Arc::clone(&rig.server) as Arc<dyn Transport>;
        Flusher::new(rig.outbox.clone(), tuned(10), transport, tokens).unwrap().flush().unwrap()
    };
    assert_eq!(as_account("").posted, 0, "nobody is signed in, whatever the token source says");
    assert_eq!(as_account("ann").posted, 0);
    assert_eq!(rig.outbox.why(&ids[0]).unwrap(), Some(Why::SignedOut));
    assert_eq!((rig.outbox.claim("").unwrap(), rig.outbox.claim("ann").unwrap()), (0, 3));
    assert_eq!((as_account("ann").acked, rig.server.ids()), (3, ids));
    assert_eq!(rig.rows().len(), 1, "bob's own is not ann's");
}

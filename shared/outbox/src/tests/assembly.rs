//! F2, F3: order, caps, sizes, and a cost that doesn't grow with the backlog.

use std::collections::BTreeMap;
use std::time::Duration;

use eventlane_contracts::limits::BODY_BYTES;

use super::*;
use crate::{assemble, promote, waiting};

#[test]
fn batches_go_in_append_order_across_streams() {
    let rig = Rig::with(OutboxOptions::default(), tuned(4));
    let mut ids = Vec::new();
    for stream in ["c", "a", "b", "a", "c", "b", "a", "a", "c"] {
        ids.extend(rig.append(stream, 1));
    }
    rig.flush();
    assert_eq!((rig.server.ids(), rig.server.batches()), (ids, vec![4, 4, 1]));
}

#[test]
fn a_streams_cap_leaves_its_places_to_others() {
    let streams =
        BTreeMap::from([("a".to_owned(), StreamTuning { batch_size: Some(2), ..StreamTuning::default() })]);
    let rig = Rig::with(OutboxOptions::default(), FlushOptions { streams, ..tuned(4) });
    rig.append("a", 5);
    rig.append("b", 3);
    rig.flush();
    let streams: Vec<String> = rig.server.seen().iter().map(|seen| seen.streams.concat()).collect();
    assert_eq!(streams, ["aabb", "aab", "a"]);
}

/// C18.
#[test]
fn bodies_stay_within_the_limit_whatever_the_payloads() {
    let rig = Rig::with(OutboxOptions::default(), tuned(1000));
    let payload = format!("{{\"s\":\"{}\"}}", "é".repeat((65_536 - 8) / 2));
    let outcomes = rig.outbox.append_all("a", std::iter::repeat_n(payload.as_str(), 130)).unwrap();
    assert!(outcomes.iter().all(Result::is_ok));
    rig.flush();
    let seen = rig.server.seen();
    assert!(seen.iter().all(|seen| seen.bytes <= BODY_BYTES), "{:?}", rig.server.batches());
    assert_eq!(rig.server.batches(), [63, 63, 4]);
}

/// C20.
#[test]
fn what_no_server_could_read_is_parked_and_the_rest_flows_in_order() {
    let rig = Rig::new();
    let bad = rig.append("a", 1);
    let good = rig.append("a", 3);
    rig.sql().execute("UPDATE eventlane_outbox SET payload = '{oops' WHERE seq = 1", []).unwrap();
    let report = rig.flush();
    assert_eq!((report.acked, report.parked), (3, 1));
    assert_eq!((rig.server.ids(), rig.stored_ids()), (good, set(&bad)));
    assert_eq!(rig.rows()[0].reason.as_deref(), Some("parked: stored payload is not JSON"));
    rig.clock.advance(Duration::from_secs(400));
    assert_eq!((rig.flush().requests, rig.rows()[0].attempts), (0, 2));
}

#[test]
fn columns_of_the_wrong_type_stop_nobody() {
    // C20: another writer's rows.
    for spoil in [
        "event_id = x'00'",
        "stream = x'00'",
        "stream = ''",
        "attempt_count = 'many'",
        "occurred_at_us = 'once'",
        "payload = x'ff'",
        "next_retry_at_us = 'soon'",
        "next_retry_at_us = 'soon', last_reason = 'parked: x'",
    ] {
        let rig = Rig::new();
        rig.append("a", 1);
        rig.append("b", 1);
        let good = rig.append("a", 2);
        rig.sql().execute(&format!("UPDATE eventlane_outbox SET {spoil} WHERE seq = 1"), []).unwrap();
        for _ in 0..3 {
            rig.flush();
            rig.clock.advance(Duration::from_secs(400));
        }
        assert!(set(&rig.server.ids()).is_superset(&set(&good)), "{spoil}");
        rig.outbox.diagnostics().unwrap();
    }
}

#[test]
fn a_due_row_is_posted_once_a_pass_even_when_the_clock_is_set_back() {
    let rig = Rig::with(OutboxOptions::default(), tuned(1));
    for stream in ["a", "b", "c"] {
        rig.append(stream, 1);
    }
    let clock = rig.clock.clone();
    rig.server.behave(move |seen| {
        clock.rewind(Duration::from_secs(86_400));
        verdicts(seen.ids.iter().map(|id| (id, "deferred")))
    });
    let report = rig.flush();
    assert_eq!((report.requests, report.deferred), (3, 3));
}

#[test]
fn a_due_time_only_a_clocks_jump_can_have_written_counts_as_due() {
    let rig = Rig::new();
    rig.append("a", 3);
    rig.clock.advance(Duration::from_secs(365 * 86_400));
    rig.server.behave(|seen| verdicts(seen.ids.iter().map(|id| (id, "deferred"))));
    rig.flush();
    rig.clock.rewind(Duration::from_secs(365 * 86_400));
    rig.server.reset();
    assert_eq!(rig.flush().acked, 3);
}

#[test]
fn once_the_server_knows_a_stream_its_waiting_rows_need_wait_no_longer() {
    let rig = Rig::with(OutboxOptions::default(), tuned(2));
    rig.append("a", 5);
    rig.append("b", 1);
    rig.server.behave(|seen| verdicts(seen.ids.iter().map(|id| (id, "deferred"))));
    rig.flush();
    rig.server.reset();
    rig.append("a", 1);
    let report = rig.flush();
    assert_eq!((report.acked, rig.server.ids().len()), (6, 6), "b is still unknown");
    assert_eq!(rig.rows().len(), 1);
}

#[test]
fn one_event_deferred_again_and_again_backs_off_among_acked_ones() {
    let rig = Rig::new();
    let poison = rig.append("a", 1).remove(0);
    let id = poison.clone();
    rig.server.behave(move |seen| {
        verdicts(seen.ids.iter().map(|seen| (seen, if *seen == id { "deferred" } else { "acked" })))
    });
    for _ in 0..20 {
        rig.append("a", 1);
        rig.flush();
    }
    let posted = rig.server.ids().iter().filter(|id| **id == poison).count();
    assert!(posted <= 2, "{posted}: the clock stands still, so it is not due");
}

/// A plan with no scan of the table and no sort.
fn assert_cheap(connection: &rusqlite::Connection, sql: &str, index: &str) {
    let sql = format!("EXPLAIN QUERY PLAN {sql}");
    let mut statement = connection.prepare(&sql).unwrap();
    let count = statement.parameter_count();
    let plan: Vec<String> = statement
        .query_map(rusqlite::params_from_iter(std::iter::repeat_n(1i64, count)), |row| row.get(3))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let plan = plan.join("\n");
    assert!(plan.contains(index), "{plan}");
    let plan = plan.replace("SCAN CONSTANT ROW", "");
    assert!(!plan.contains("SCAN") && !plan.contains("TEMP B-TREE"), "{plan}");
}

#[test]
fn no_plan_scans_or_sorts_the_backlog() {
    let rig = Rig::new();
    let sql = rig.sql();
    assert_cheap(&sql, assemble::READY_STREAM, "eventlane_outbox_ready (account=? AND stream>?)");
    assert_cheap(
        &sql,
        assemble::CANDIDATES,
        "COVERING INDEX eventlane_outbox_ready (account=? AND stream=?)",
    );
    assert_cheap(&sql, waiting::WAITING_STREAM, "eventlane_outbox_waiting (account=? AND stream>?)");
    assert_cheap(&sql, promote::PROMOTE_DUE, "eventlane_outbox_waiting (account=? AND stream=? AND next");
    assert_cheap(&sql, waiting::EARLIEST, "eventlane_outbox_waiting (account=? AND stream=?");
    assert_cheap(&sql, assemble::NEWEST, "COVERING INDEX eventlane_outbox_ready (account=? AND stream=?)");
    assert_cheap(&sql, waiting::ANY_READY, "COVERING INDEX eventlane_outbox_ready (account>?)");
    assert_cheap(&sql, waiting::WAITING_ACCOUNT, "eventlane_outbox_waiting (account>?)");
    assert_cheap(&sql, waiting::PARKED_ACCOUNT, "eventlane_outbox_parked (account>?)");
    assert_cheap(&sql, assemble::PARKED_DUE, "eventlane_outbox_parked (account=? AND next_retry");
}

#[test]
fn assembly_takes_the_same_steps_whatever_the_backlog() {
    let steps = |ready: i64, waiting: i64, others: i64| {
        let rig = Rig::new();
        let sql = rig.sql();
        let insert = "WITH RECURSIVE n(i) AS (SELECT 1 WHERE ?1 > 0 UNION ALL SELECT i + 1 FROM n WHERE i < ?1) \
            INSERT INTO eventlane_outbox \
                (event_id, stream, occurred_at_us, payload, enqueued_at_us, next_retry_at_us, account) \
            SELECT printf('%08d-0000-7000-8000-%012d', i, (SELECT count(*) FROM eventlane_outbox)), \
                char(97 + i % 3), 1, '{}', 1, ?2, ?3 FROM n";
        sql.execute_batch("BEGIN").unwrap();
        sql.execute(insert, (waiting, i64::MAX / 2, None::<&str>)).unwrap();
        sql.execute(insert, (others, None::<i64>, "other")).unwrap();
        sql.execute(insert, (ready, None::<i64>, None::<&str>)).unwrap();
        sql.execute_batch("COMMIT").unwrap();
        let connection = rig.outbox.inner.flusher();
        let (places, skip) = (|_: &str| assemble::Places::Upto(usize::MAX), BTreeSet::new());
        let pick = assemble::Pick { account: None, limit: 200, places: &places, skip: &skip };
        let (slice, _) = assemble::ready(&connection, &pick).unwrap();
        assert_eq!(slice.unwrap().rows.len(), 200);
        // The cached statements still hold how many steps of SQLite's machine they took.
        let statements = [assemble::READY_STREAM, assemble::CANDIDATES, assemble::BY_SEQ];
        let steps = statements.map(|sql| {
            let statement = connection.prepare_cached(sql).unwrap();
            statement.get_status(rusqlite::StatementStatus::VmStep)
        });
        assert!(steps.iter().all(|steps| *steps > 0), "counted: {steps:?}");
        steps.iter().sum::<i32>()
    };
    let small = steps(1_000, 0, 0);
    for large in [steps(30_000, 0, 0), steps(1_000, 20_000, 0), steps(1_000, 0, 20_000)] {
        assert!(large <= small + small / 10, "{large} steps against {small}");
    }
}

#[test]
fn a_backlog_the_server_defers_whole_doesnt_go_up_whole() {
    let rig = Rig::with(OutboxOptions::default(), tuned(10));
    let ids = rig.append("a", 1000);
    rig.append("b", 15);
    rig.server.behave(|seen| {
        let word = |stream: &String| if stream == "a" { "deferred" } else { "acked" };
        verdicts(seen.ids.iter().zip(seen.streams.iter().map(word)))
    });
    let report = rig.flush();
    assert_eq!((report.deferred, report.acked, report.end), (10, 15, PassEnd::Done));
    assert_eq!(report.behind, ["a"]);
    assert_eq!(rig.outbox.why(&ids[500]).unwrap(), Some(Why::StreamDeferred));
    rig.server.seen.lock().unwrap().clear();
    for n in 1..=20 {
        rig.clock.advance(Duration::from_secs(300));
        rig.append("b", 1);
        assert_eq!(rig.flush().requests, 1, "its two ride with the others");
        assert_eq!(rig.server.ids().len(), 3 * n, "the oldest and the newest, whatever is due");
    }
    rig.server.reset();
    let report = rig.flush();
    assert_eq!((report.acked, report.behind.len()), (1000, 0), "all of it once the server takes one");
    assert_eq!(rig.server.batches()[..2], [2, 10]);
    assert!(rig.rows().is_empty());
}

#[test]
fn events_deferred_for_ever_hold_up_no_new_event_of_their_stream() {
    let rig = Rig::with(OutboxOptions::default(), tuned(10));
    let bad = rig.append("a", 30);
    let poison = set(&bad);
    rig.server.behave(move |seen| {
        verdicts(seen.ids.iter().map(|id| (id, if poison.contains(id) { "deferred" } else { "acked" })))
    });
    rig.flush();
    for _ in 0..5 {
        let good = rig.append("a", 1).remove(0);
        rig.flush();
        assert!(!rig.stored_ids().contains(&good), "the newest rides at once");
    }
    assert_eq!(rig.stored_ids(), set(&bad));
}

#[test]
fn a_row_without_a_stream_is_parked_and_tells_why() {
    // C20: another writer's rows, ready or waiting.
    for (spoil, waits) in [("''", false), ("' '", false), ("x'00'", false), ("''", true), ("x'ff'", true)] {
        let rig = Rig::new();
        let bad = rig.append("a", 1).remove(0);
        let good = rig.append("a", 1);
        let due = if waits { "1" } else { "NULL" };
        let sql =
            format!("UPDATE eventlane_outbox SET stream = {spoil}, next_retry_at_us = {due} WHERE seq = 1");
        rig.sql().execute(&sql, []).unwrap();
        let report = rig.flush();
        assert_eq!((report.acked, report.parked), (1, 1), "{spoil}");
        assert_eq!(rig.server.ids(), good);
        let row = rig.rows().remove(0);
        assert_eq!((row.id.as_str(), row.attempts), (bad.as_str(), 1));
        assert_eq!(row.reason.as_deref(), Some("parked: stored stream is empty or no text"));
        if !spoil.starts_with('x') {
            let why = rig.outbox.why(&bad).unwrap().unwrap().to_string();
            assert!(why.contains("stored stream is empty or no text"), "{why}");
        }
    }
}

#[test]
fn a_parked_rows_time_is_judged_by_the_longest_ceiling_and_a_clocks_jump_ends_it() {
    let hours = |hours: u64| Some(Duration::from_secs(hours * 3600));
    let own = BackoffTuning { base: hours(5), ceiling: hours(10) };
    let streams = BTreeMap::from([("a".to_owned(), StreamTuning { batch_size: None, backoff: own })]);
    let rig = Rig::with(OutboxOptions::default(), FlushOptions { streams, ..tuned(10) });
    rig.append("a", 1);
    rig.server.behave(|_| status(413));
    assert_eq!(rig.flush().parked, 1);
    rig.server.reset();
    rig.append("b", 1);
    assert_eq!(rig.flush().acked, 1, "b's");
    assert_eq!(rig.rows().len(), 1, "hours ahead is no jump where a stream waits for hours");
    rig.clock.rewind(Duration::from_secs(365 * 86_400));
    assert_eq!(rig.flush().acked, 1);
    assert!(rig.rows().is_empty());
}

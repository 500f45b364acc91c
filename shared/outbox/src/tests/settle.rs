//! F4 and the cases C01, C02, C08, C16, C22, C30: only a usable verdict settles a row.

use std::sync::mpsc;
use std::time::Duration;

use super::*;

#[test]
fn each_verdict_does_what_it_says() {
    let rig = Rig::new();
    let ids = rig.append("a", 4);
    rig.server.behave(|seen| verdicts(seen.ids.iter().zip(["acked", "refused", "rejected", "deferred"])));
    let report = rig.flush();
    assert_eq!(
        (report.requests, report.posted, report.acked, report.refused, report.rejected, report.deferred),
        (1, 4, 1, 1, 1, 1)
    );
    assert_eq!(report.end, PassEnd::Done);
    let listed: Vec<_> = report.verdicts.iter().map(|v| (v.event_id.clone(), v.status.as_str())).collect();
    let listed_ids = [(1, "refused"), (2, "rejected"), (3, "deferred")].map(|(at, s)| (ids[at].clone(), s));
    assert_eq!(listed, listed_ids, "acked is never listed");
    let rows = rig.rows();
    assert_eq!((rows.len(), &rows[0].id, rows[0].attempts), (1, &ids[3], 1));
    assert_eq!(rows[0].reason.as_deref(), Some("because"));
    let wait = report.wait.expect("the deferred row waits");
    assert!(wait >= Duration::from_millis(500) && wait <= Duration::from_secs(1), "{wait:?}");
}

#[test]
fn a_deferred_row_waits_its_time_and_is_sent_again_with_the_same_id() {
    let rig = Rig::new();
    let ids = rig.append("a", 1);
    rig.server.behave(|seen| verdicts(seen.ids.iter().map(|id| (id, "deferred"))));
    rig.flush();
    rig.flush();
    assert_eq!(rig.server.seen().len(), 1, "not due yet");
    rig.clock.advance(Duration::from_secs(1));
    rig.flush();
    assert_eq!(rig.rows()[0].attempts, 2);
    rig.server.behave(|_| None);
    rig.clock.advance(Duration::from_secs(2));
    rig.flush();
    assert_eq!(rig.server.ids(), [ids[0].clone(), ids[0].clone(), ids[0].clone()]);
    assert!(rig.rows().is_empty());
}

/// C22.
#[test]
fn answers_that_leave_out_repeat_or_invent_settle_only_what_is_sure() {
    let rig = Rig::new();
    let ids = rig.append("a", 4);
    rig.server.behave(|seen| {
        let stranger = "00000000-0000-7000-8000-000000000000".to_owned();
        let [sure, both, upper, _left_out] = [0, 1, 2, 3].map(|at| seen.ids[at].clone());
        let upper = upper.to_uppercase();
        let acks = [(&sure, "acked"), (&stranger, "acked"), (&both, "acked"), (&both, "rejected")];
        verdicts(acks.into_iter().chain([(&upper, "acked")]))
    });
    let report = rig.flush();
    assert_eq!((report.acked, report.unanswered), (1, 3));
    assert_eq!(rig.stored_ids(), set(&ids[1..]));
    assert!(rig.rows().iter().all(|row| row.attempts == 1 && row.due_us.is_some()));
}

/// C22.
#[test]
fn an_answer_about_strangers_only_fails_the_pass() {
    let rig = Rig::with(OutboxOptions::default(), tuned(2));
    rig.append("a", 4);
    rig.server.behave(|_| verdicts([(&"00000000-0000-7000-8000-000000000000".to_owned(), "acked")]));
    let report = rig.flush();
    assert_eq!(report.end, PassEnd::Failed(LaneFault::NoVerdict));
    assert_eq!((report.requests, rig.rows().len()), (1, 4));
}

/// C01.
#[test]
fn a_thousand_acks_settle_with_few_bound_variables() {
    let rig = Rig::with(OutboxOptions::default(), tuned(1000));
    rig.outbox.inner.flusher().set_limit(rusqlite::limits::Limit::SQLITE_LIMIT_VARIABLE_NUMBER, 999).unwrap();
    rig.append("a", 1000);
    let report = rig.flush();
    assert_eq!((report.acked, rig.server.batches()), (1000, vec![1000]));
    assert!(rig.rows().is_empty());
}

/// C02.
#[test]
fn a_late_ack_never_hits_a_row_that_came_after() {
    let rig = Rig::new();
    let first = rig.append("a", 1);
    let path = rig.path();
    let outbox = rig.outbox.clone();
    let later = Arc::new(Mutex::new(Vec::new()));
    let appended = Arc::clone(&later);
    rig.server.behave(move |seen| {
        if appended.lock().unwrap().is_empty() {
            // Meanwhile another handle removes the row, and an append comes in its place.
            let sql = rusqlite::Connection::open(&path).unwrap();
            assert_eq!(sql.execute("DELETE FROM eventlane_outbox", []).unwrap(), 1);
            appended.lock().unwrap().push(outbox.append("a", &json!({})).unwrap().event_id);
        } else {
            return status(503);
        }
        verdicts(seen.ids.iter().map(|id| (id, "acked")))
    });
    rig.flush();
    assert_eq!(rig.server.ids()[0], first[0]);
    assert_eq!(rig.stored_ids(), set(&later.lock().unwrap()));
}

#[test]
fn acked_rows_are_kept_as_a_ledger_and_swept_when_asked_to() {
    let retention = Duration::from_secs(60);
    let rig = Rig::with(OutboxOptions { acked_retention: retention, ..OutboxOptions::default() }, tuned(10));
    rig.append("a", 3);
    rig.flush();
    let rows = rig.rows();
    assert!(rows.len() == 3 && rows.iter().all(|row| row.acked_us.is_some()));
    assert!(rig.outbox.status().unwrap().empty, "a stamped row is not pending");
    rig.clock.advance(Duration::from_secs(59));
    rig.flush();
    assert_eq!((rig.rows().len(), rig.server.seen().len()), (3, 1), "never posted again");
    rig.clock.advance(Duration::from_secs(1));
    rig.flush();
    assert!(rig.rows().is_empty());
}

/// C08.
#[test]
fn an_ack_that_cant_be_recorded_ends_the_pass_and_is_recorded_before_anything_is_sent() {
    let rig = Rig::with(OutboxOptions::default(), tuned(2));
    let ids = rig.append("a", 4);
    // A lock held by another handle stands for any store that won't take the delete.
    let other = rig.sql();
    rig.outbox.inner.flusher().busy_timeout(Duration::ZERO).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert_eq!(rig.flusher.flush().unwrap_err().tag(), "store");
    assert_eq!(rig.server.seen().len(), 1, "no further batch after one that can't be settled");
    other.execute_batch("ROLLBACK").unwrap();
    rig.flush();
    assert!(rig.rows().is_empty());
    assert_eq!(rig.server.ids(), ids, "each went up once");
}

/// C16.
#[test]
fn a_crash_between_answer_and_settling_sends_the_same_ids_again() {
    let rig = Rig::new();
    let ids = rig.append("a", 3);
    let mut core = FlushCore::new(rig.outbox.clone(), &FlushOptions::default()).unwrap();
    assert!(matches!(core.next_task().unwrap(), Task::Authorize { refresh: false }));
    core.on_credentials(Ok(Credentials::anonymous())).unwrap();
    assert!(matches!(core.next_task().unwrap(), Task::Post(_)));
    drop(core); // posted, and nothing after that
    let again = Outbox::open(rig.path(), registry(), OutboxOptions::default()).unwrap();
    flusher(&again, FlushOptions::default(), &rig.server).flush().unwrap();
    assert_eq!(rig.server.ids(), ids);
}

/// Waits until so many callers share the pass under way.
fn await_sharing(flusher: &Flusher, callers: usize) {
    let deadline = std::time::Instant::now() + Duration::from_secs(20);
    loop {
        // Beside the callers the pass itself holds it, and so does the flusher.
        let holders = flusher.shared.turn().as_ref().map_or(0, Arc::strong_count);
        if holders == callers + 2 {
            return;
        }
        assert!(std::time::Instant::now() < deadline, "{holders} hold the pass");
        std::thread::yield_now();
    }
}

#[test]
fn concurrent_flushes_share_one_pass_and_an_append_meanwhile_survives() {
    // C30; C31: one refresh for all of them.
    let rig = Rig::new();
    let first = rig.append("a", 1);
    let (arrived, arrivals) = mpsc::channel();
    let (release, released) = mpsc::channel::<()>();
    rig.server.behave(move |seen| {
        if seen.token.as_deref() == Some("T1") {
            arrived.send(()).unwrap();
            let _ = released.recv_timeout(Duration::from_secs(20));
            return status(401);
        }
        None
    });
    let reports = std::thread::scope(|scope| {
        let leader = scope.spawn(|| rig.flush());
        arrivals.recv_timeout(Duration::from_secs(20)).unwrap();
        let followers: Vec<_> = (0..3).map(|_| scope.spawn(|| rig.flush())).collect();
        await_sharing(&rig.flusher, 3);
        let second = rig.append("a", 1);
        drop(release);
        let reports: Vec<FlushReport> =
            [leader].into_iter().chain(followers).map(|caller| caller.join().unwrap()).collect();
        assert_eq!(rig.server.ids(), [first[0].clone(), first[0].clone(), second[0].clone()]);
        reports
    });
    assert_eq!((reports[0].requests, reports[0].acked), (3, 2));
    assert!(reports.iter().all(|report| *report == reports[0]), "all have its report: {reports:?}");
    assert!(rig.rows().is_empty());
}

#[test]
fn a_hook_that_flushes_gets_an_answer_and_no_deadlock() {
    let rig = Rig::new();
    let (sender, ends) = mpsc::channel();
    let inside = rig.flusher.clone();
    let _hook = rig.flusher.on_batch(move |_| sender.send(inside.flush().unwrap().end).unwrap());
    rig.append("a", 1);
    assert_eq!(rig.flush().acked, 1);
    assert_eq!(ends.try_recv(), Ok(PassEnd::Elsewhere));
}

#[test]
fn suspended_in_the_middle_of_a_request_it_lets_others_flush_and_settles_late() {
    // A9
    let rig = Rig::with(OutboxOptions::default(), tuned(2));
    let ids = rig.append("a", 4);
    let other = Outbox::open(rig.path(), registry(), OutboxOptions::default()).unwrap();
    let second = Server::new();
    let others = flusher(&other, tuned(10), &second);
    let ours = rig.flusher.clone();
    let ends = Arc::new(Mutex::new(Vec::new()));
    let (record, inside) = (Arc::clone(&ends), others.clone());
    rig.server.behave(move |_| {
        record.lock().unwrap().push(inside.flush().unwrap().end);
        ours.suspend();
        // Resumed too soon: the pass under way has lost its lock all the same.
        ours.resume();
        record.lock().unwrap().push(inside.flush().unwrap().end);
        other.append("b", &json!({})).unwrap();
        None
    });
    let report = rig.flush();
    assert_eq!((report.requests, report.acked, report.end), (1, 2, PassEnd::Stopped));
    assert_eq!(*ends.lock().unwrap(), [PassEnd::Elsewhere, PassEnd::Done]);
    assert_eq!(second.ids(), ids, "the other sent all of it, the batch under way too");
    assert_eq!(rig.rows().len(), 1, "the late answer settled its own rows or none");
    rig.server.reset();
    assert_eq!(rig.flush().acked, 1, "and the lock is nobody's");
}

#[test]
fn a_panic_in_a_transport_ends_the_turn_and_loses_nothing() {
    let rig = Rig::new();
    let ids = rig.append("a", 2);
    rig.server.behave(|_| panic!("scripted"));
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| rig.flusher.flush()));
    assert!(panicked.is_err());
    let server = Server::new();
    assert_eq!(flusher(&rig.outbox, tuned(10), &server).flush().unwrap().end, PassEnd::Elsewhere);
    // The test server's own lock died with it; the flusher goes on where it was.
    rig.server.behaviour.clear_poison();
    rig.server.behave(|_| None);
    rig.flush();
    assert!(rig.rows().is_empty());
    assert_eq!(set(&rig.server.ids()), set(&ids));
}

#[test]
fn of_two_handles_on_one_file_one_flushes_at_a_time() {
    let rig = Rig::new();
    rig.append("a", 2);
    let other = Outbox::open(rig.path(), registry(), OutboxOptions::default()).unwrap();
    let second = Server::new();
    let others = flusher(&other, FlushOptions::default(), &second);
    let report = Arc::new(Mutex::new(None));
    let (inside, outcome) = (others.clone(), Arc::clone(&report));
    rig.server.behave(move |_| {
        *outcome.lock().unwrap() = Some(inside.flush().unwrap());
        None
    });
    assert_eq!(rig.flush().acked, 2);
    assert_eq!(report.lock().unwrap().as_ref().unwrap().end, PassEnd::Elsewhere);
    other.append("b", &json!({})).unwrap();
    assert_eq!(others.flush().unwrap().acked, 1);
}

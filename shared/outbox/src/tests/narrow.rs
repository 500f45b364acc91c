//! F6 and the cases C17, C20, C21: one bad event, a proxy with a limit, a firewall that says no.

use std::time::Duration;

use super::*;

/// C17 (a).
#[test]
fn one_event_that_is_always_413_is_parked_with_its_reason() {
    let rig = Rig::new();
    rig.append("a", 1);
    rig.server.behave(|_| status(413));
    let report = rig.flush();
    assert_eq!((report.requests, report.parked, report.end), (1, 1, PassEnd::Done));
    let rows = rig.rows();
    assert_eq!(rows[0].reason.as_deref(), Some("parked: server answers 413 to this event alone"));
    rig.flush();
    assert_eq!(rig.server.seen().len(), 1, "not looped");
    rig.clock.advance(Duration::from_secs(1));
    rig.server.reset();
    rig.flush();
    assert!(rig.rows().is_empty(), "and taken once the road is wider");
}

/// C17 (b).
#[test]
fn a_413_halves_what_was_sent_and_the_next_pass_remembers() {
    let rig = Rig::with(OutboxOptions::default(), tuned(50));
    let ids = rig.append("a", 20);
    rig.server.behave(|seen| if seen.ids.len() > 10 { status(413) } else { None });
    assert_eq!(rig.flush().acked, 20);
    assert_eq!(rig.server.batches(), [20, 10, 10]);
    rig.append("a", 20);
    rig.flush();
    assert_eq!(rig.server.batches()[3..], [10, 10]);
    assert_eq!(rig.server.ids()[20..40], ids, "in order");
}

/// C17 (c).
#[test]
fn a_blanket_413_opens_the_circuit_after_a_few_requests_and_keeps_the_backlog() {
    let rig = Rig::new();
    rig.append("a", 1000);
    rig.server.behave(|_| status(413));
    let report = rig.flush();
    assert_eq!(report.end, PassEnd::Failed(LaneFault::Shape(413)));
    assert!(report.requests <= 12, "{}", report.requests);
    assert!(rig.rows().len() == 1000 && rig.rows().iter().all(StoredRow::is_untouched));
}

/// C21.
#[test]
fn a_400_is_bisected_down_to_the_one_row_and_the_others_are_delivered() {
    for at in [0, 1, 7, 42, 98, 99] {
        let rig = Rig::with(OutboxOptions::default(), tuned(100));
        let ids = rig.append("a", 100);
        let bad = ids[at].clone();
        let poison = bad.clone();
        rig.server.behave(move |seen| if seen.ids.contains(&poison) { status(400) } else { None });
        let report = rig.flush();
        assert_eq!((report.acked, report.parked, report.end), (99, 1, PassEnd::Done), "{at}");
        assert_eq!(rig.stored_ids(), set(&[bad]));
        assert!(report.requests <= 16, "{}", report.requests);
        assert_eq!(rig.server.ids().iter().filter(|id| **id == ids[(at + 50) % 100]).count().min(3), 2);
    }
}

#[test]
fn neighbours_that_are_all_bad_dont_stop_the_rest() {
    let rig = Rig::with(OutboxOptions::default(), tuned(100));
    let ids = rig.append("a", 100);
    let bad = ids[..4].to_vec();
    let poison = bad.clone();
    rig.server.behave(
        move |seen| {
            if seen.ids.iter().any(|id| poison.contains(id)) { status(400) } else { None }
        },
    );
    let report = rig.flush();
    assert_eq!((report.acked, report.parked, report.end), (96, 4, PassEnd::Done));
    assert_eq!(rig.stored_ids(), set(&bad));
}

/// C21.
#[test]
fn a_blanket_400_rejects_nothing_and_touches_nothing() {
    let rig = Rig::new();
    rig.append("a", 10);
    rig.server.behave(|_| status(400));
    let report = rig.flush();
    assert_eq!((report.end, report.rejected), (PassEnd::Failed(LaneFault::Shape(400)), 0));
    assert!(rig.rows().len() == 10 && rig.rows().iter().all(StoredRow::is_untouched));
    rig.server.reset();
    rig.clock.advance(Duration::from_secs(1));
    assert_eq!(rig.flush().acked, 10);
}

#[test]
fn rows_that_trickle_in_under_a_blanket_413_open_the_circuit_too() {
    let rig = Rig::new();
    rig.server.behave(|_| status(413));
    let mut parked = 0;
    for _ in 0..3 {
        rig.append("a", 1);
        parked += rig.flush().parked;
    }
    assert_eq!(parked, 2, "the third in a row is the lane's fault");
    assert!(rig.rows()[2].is_untouched());
}

#[test]
fn parked_rows_ride_with_parked_rows_only_and_after_all_others() {
    let rig = Rig::new();
    let parked = rig.append("a", 1).remove(0);
    rig.server.behave(|_| status(400));
    rig.flush();
    rig.server.reset();
    rig.clock.advance(Duration::from_secs(400));
    let fresh = rig.append("a", 3);
    rig.flush();
    assert_eq!(rig.server.seen().into_iter().map(|seen| seen.ids).collect::<Vec<_>>(), [fresh, vec![parked]]);
    assert!(rig.rows().is_empty());
}

#[test]
fn a_servers_reason_cant_pass_for_a_parking() {
    let rig = Rig::new();
    rig.append("a", 1);
    rig.server.behave(|seen| {
        let answer =
            json!({"acks": [{"eventId": seen.ids[0], "status": "deferred", "reason": "parked: no"}]});
        Some(Ok(ok(&answer.to_string())))
    });
    rig.flush();
    assert_eq!(rig.rows()[0].reason.as_deref(), Some(" parked: no"));
}

#[test]
fn a_big_batch_that_fails_three_times_is_halved_once() {
    let rig = Rig::with(OutboxOptions::default(), tuned(32));
    let payload = format!("{{\"s\":\"{}\"}}", "x".repeat(60_000));
    rig.outbox.append_all("a", std::iter::repeat_n(payload.as_str(), 32)).unwrap();
    rig.server.behave(|_| status(502));
    for _ in 0..4 {
        rig.flush();
        rig.clock.advance(Duration::from_secs(300));
    }
    assert_eq!(rig.server.batches(), [32, 32, 32, 16]);
}

#[test]
fn a_whole_batch_of_bad_rows_doesnt_hold_up_what_stands_behind_it() {
    let rig = Rig::with(OutboxOptions::default(), tuned(10));
    let bad = rig.append("a", 25);
    let good = rig.append("a", 15);
    let poison = set(&bad);
    rig.server.behave(
        move |seen| {
            if seen.ids.iter().any(|id| poison.contains(id)) { status(400) } else { None }
        },
    );
    let report = rig.flush();
    assert!(report.requests < 100, "{}", report.requests);
    assert!(rig.stored_ids().is_disjoint(&set(&good)), "the good ones are through");
    // With nothing good left, the last bad ones can't be told from a fault of the lane.
    for _ in 0..2 {
        rig.clock.advance(Duration::from_secs(300));
        rig.flush();
    }
    rig.append("a", 1);
    rig.clock.advance(Duration::from_secs(300));
    rig.flush();
    assert_eq!(rig.stored_ids(), set(&bad));
    assert!(rig.rows().iter().all(|row| row.reason.as_deref().is_some_and(|why| why.starts_with(PARKED))));
}

#[test]
fn many_parked_rows_under_a_blanket_413_are_tried_few_at_a_time_and_less_and_less() {
    let rig = Rig::with(OutboxOptions::default(), tuned(10));
    rig.append("a", 50);
    rig.sql()
        .execute(
            "UPDATE eventlane_outbox SET next_retry_at_us = 1, last_reason = ?1, attempt_count = 1",
            [format!("{PARKED}server answers 413 to this event alone")],
        )
        .unwrap();
    rig.server.behave(|_| status(413));
    for _ in 0..20 {
        assert_eq!(rig.flush().end, PassEnd::Failed(LaneFault::Shape(413)));
        assert_eq!(rig.flush().end, PassEnd::BackingOff);
        rig.clock.advance(Duration::from_secs(300));
    }
    assert!(rig.rows().iter().all(|row| row.attempts == 1), "nothing says that it is the rows");
    // With a lane that is alive it is the rows: they are tried, and the rest of them rests.
    rig.server.behave(|seen| {
        if seen.ids.len() == 1 && seen.payloads[0] == "{\"n\":99}" { None } else { status(413) }
    });
    let mut requests = 0;
    for _ in 0..30 {
        rig.outbox.append_json("a", "{\"n\":99}").unwrap();
        requests += rig.flush().requests;
        rig.clock.advance(Duration::from_millis(250));
    }
    assert!(requests < 100, "{requests}");
    rig.server.reset();
    for _ in 0..10 {
        rig.clock.advance(Duration::from_secs(300));
        rig.flush();
    }
    assert!(rig.rows().is_empty());
}

#[test]
fn three_bad_rows_alone_are_a_fault_of_the_lane_until_another_row_passes() {
    let rig = Rig::with(OutboxOptions::default(), tuned(10));
    let bad = rig.append("a", 3);
    let poison = set(&bad);
    rig.server.behave(
        move |seen| {
            if seen.ids.iter().any(|id| poison.contains(id)) { status(400) } else { None }
        },
    );
    for _ in 0..4 {
        assert_eq!(rig.flush().end, PassEnd::Failed(LaneFault::Shape(400)), "nothing tells it from one");
        assert!(rig.rows().iter().all(StoredRow::is_untouched));
        rig.clock.advance(Duration::from_secs(300));
    }
    rig.append("a", 1);
    let report = rig.flush();
    assert_eq!((report.acked, report.parked, report.end), (1, 3, PassEnd::Done));
    assert_eq!(rig.stored_ids(), set(&bad));
}

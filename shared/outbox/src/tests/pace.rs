//! F1, F5, F8: backoff, `Retry-After`, and what ends them.

use std::time::Duration;

use super::*;

fn held(rig: &Rig, retry_after: &str) -> FlushReport {
    rig.append("a", 1);
    let value = retry_after.to_owned();
    rig.server.behave(move |_| {
        Some(Ok(PostResponse { status: 503, retry_after: Some(value.clone()), date: None, body: Vec::new() }))
    });
    rig.flush()
}

#[test]
fn the_lanes_backoff_doubles_and_nothing_is_sent_while_it_runs() {
    let rig = Rig::new();
    rig.append("a", 1);
    rig.server.behave(|_| status(500));
    let mut waits = Vec::new();
    for _ in 0..12 {
        let wait = rig.flush().wait.unwrap();
        waits.push(wait);
        rig.clock.advance(wait - Duration::from_micros(1));
        assert_eq!(rig.flush().end, PassEnd::BackingOff);
        rig.clock.advance(Duration::from_micros(1));
    }
    assert_eq!(rig.server.seen().len(), 12);
    for (n, wait) in waits.iter().enumerate() {
        let step = Duration::from_secs(300.min(1 << n));
        assert!(*wait >= step / 2 && *wait <= step, "{n}: {wait:?}");
    }
}

/// C26.
#[test]
fn retry_after_is_honoured_when_longer_and_clamped_to_a_day() {
    for (value, seconds) in [
        ("60", 60),
        ("9223372037", 86_400),
        ("18446744073709551615", 86_400),
        ("99999999999999999999", 86_400),
    ] {
        let rig = Rig::new();
        assert_eq!(held(&rig, value).wait, Some(Duration::from_secs(seconds)), "{value}");
    }
    let rig = Rig::new();
    assert!(held(&rig, "0").wait.unwrap() >= Duration::from_millis(500), "the lane's own is longer");
    assert!(held(&Rig::new(), "soon").wait.unwrap() <= Duration::from_secs(1));
}

/// C26.
#[test]
fn retry_after_survives_a_restart_and_the_network_coming_back() {
    for (value, seconds) in [("60", 60), ("99999999999999999999", 86_400)] {
        let rig = Rig::new();
        held(&rig, value);
        rig.server.reset();
        let options = OutboxOptions { clock: Arc::new(rig.clock.clone()), ..OutboxOptions::default() };
        let again = Outbox::open(rig.path(), registry(), options).unwrap();
        let flusher = flusher(&again, FlushOptions::default(), &rig.server);
        flusher.online();
        rig.clock.advance(Duration::from_secs(seconds - 1));
        let report = flusher.flush().unwrap();
        assert_eq!((report.end, report.wait), (PassEnd::BackingOff, Some(Duration::from_secs(1))));
        rig.clock.advance(Duration::from_secs(1));
        let report = flusher.flush().unwrap();
        assert_eq!((report.acked, report.backoff), (1, Some(BackoffChange::Cleared)));
    }
}

#[test]
fn a_clock_set_back_revives_no_retry_after_that_was_kept_to() {
    let rig = Rig::new();
    held(&rig, "3600");
    rig.clock.advance(Duration::from_secs(3600));
    rig.server.behave(|_| status(503));
    assert_eq!(rig.flush().requests, 1);
    rig.clock.rewind(Duration::from_secs(1800));
    rig.server.reset();
    assert_eq!(rig.flush().acked, 1);
}

#[test]
fn the_network_coming_back_ends_the_lanes_own_backoff() {
    let rig = Rig::new();
    rig.append("a", 1);
    rig.server.behave(|_| Some(Err(TransportError::Connect)));
    rig.flush();
    rig.server.reset();
    assert_eq!(rig.flush().end, PassEnd::BackingOff);
    rig.flusher.online();
    assert_eq!(rig.flush().acked, 1);
}

#[test]
fn a_clock_set_back_a_year_doesnt_hold_the_lane_for_a_year() {
    let rig = Rig::new();
    held(&rig, "60");
    rig.clock.rewind(Duration::from_secs(365 * 86_400));
    rig.server.reset();
    assert_eq!(rig.flush().acked, 1);
}

/// C27.
#[test]
fn a_row_tried_ever_so_often_waits_the_ceiling() {
    for attempts in [31, 32, 63, 64, 10_000, i64::MAX - 1] {
        let rig = Rig::new();
        rig.append("a", 1);
        rig.sql().execute("UPDATE eventlane_outbox SET attempt_count = ?1", [attempts]).unwrap();
        rig.server.behave(|seen| verdicts(seen.ids.iter().map(|id| (id, "deferred"))));
        let wait = rig.flush().wait.unwrap();
        assert!(wait >= Duration::from_secs(150) && wait <= Duration::from_secs(300), "{wait:?}");
    }
}

#[test]
fn a_manual_flush_sends_batch_after_batch() {
    let rig = Rig::with(OutboxOptions::default(), tuned(3));
    rig.append("a", 10);
    let report = rig.flush();
    assert_eq!((report.requests, report.acked, report.wait), (4, 10, None));
}

/// A flusher whose token source counts how often it is asked.
fn counting(rig: &Rig, account: Option<&'static str>) -> (Flusher, Arc<std::sync::atomic::AtomicUsize>) {
    let asked = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let tokens = Arc::new(move |_| {
        count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        let credentials = Credentials::bearer("T1");
        Ok(Credentials { account: account.map(str::to_owned), ..credentials })
    });
    let transport: Arc<dyn Transport> = Arc::clone(&rig.server) as Arc<dyn Transport>;
    (Flusher::new(rig.outbox.clone(), tuned(10), transport, tokens).unwrap(), asked)
}

#[test]
fn no_token_is_asked_for_while_no_row_could_go_with_it() {
    for parks in [false, true] {
        let rig = Rig::new();
        let (flusher, asked) = counting(&rig, None);
        let asked = || asked.load(std::sync::atomic::Ordering::SeqCst);
        rig.outbox.set_account(Some(String::new()));
        rig.append("a", 1);
        rig.outbox.set_account(None);
        assert_eq!((flusher.flush().unwrap().wait, asked()), (None, 0), "signed out is nobody's turn");
        rig.append("a", 1);
        rig.server.behave(move |seen| {
            if parks { status(413) } else { verdicts(seen.ids.iter().map(|id| (id, "deferred"))) }
        });
        let wait = flusher.flush().unwrap().wait.unwrap();
        rig.clock.advance(wait - Duration::from_micros(1));
        let report = flusher.flush().unwrap();
        assert_eq!((report.end, report.wait), (PassEnd::Done, Some(Duration::from_micros(1))));
        assert_eq!(asked(), 1, "it only waits");
        rig.clock.advance(Duration::from_micros(1));
        rig.server.reset();
        assert_eq!((flusher.flush().unwrap().acked, asked()), (1, 2));
    }
}

#[test]
fn rows_of_an_account_that_may_have_signed_in_are_asked_a_token_for() {
    let rig = Rig::new();
    rig.outbox.set_account(Some("ann".to_owned()));
    rig.append("a", 1);
    let (bobs, asked) = counting(&rig, Some("bob"));
    assert_eq!(bobs.flush().unwrap().posted, 0, "the token says whose turn it is");
    assert_eq!(asked.load(std::sync::atomic::Ordering::SeqCst), 1);
    let (anns, _) = counting(&rig, Some("ann"));
    rig.server.behave(|seen| verdicts(seen.ids.iter().map(|id| (id, "deferred"))));
    anns.flush().unwrap();
    // Another account's row that waits is looked at too, and a time only a jump can have written.
    bobs.flush().unwrap();
    assert_eq!(asked.load(std::sync::atomic::Ordering::SeqCst), 1);
    rig.clock.rewind(Duration::from_secs(365 * 86_400));
    rig.server.reset();
    assert_eq!(anns.flush().unwrap().acked, 1);
}

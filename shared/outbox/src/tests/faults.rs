//! F5 and the cases C23, C24, C31, C34: a status never deletes, and each has its class.

use std::time::Duration;

use super::*;

/// C34; 400, 401, 403 and 413 have tests of their own.
#[test]
fn every_status_has_a_class_and_none_deletes_or_touches_a_row() {
    let later = [
        201, 204, 301, 302, 303, 307, 308, 402, 404, 405, 408, 409, 415, 421, 422, 425, 429, 500, 501, 502,
        503, 504,
    ];
    for code in later {
        let rig = Rig::with(OutboxOptions::default(), tuned(2));
        rig.append("a", 4);
        rig.server.behave(move |_| status(code));
        let report = rig.flush();
        assert_eq!(report.end, PassEnd::Failed(LaneFault::Status(code)));
        assert_eq!(report.requests, 1, "{code}");
        assert!(rig.rows().iter().all(StoredRow::is_untouched) && rig.rows().len() == 4, "{code}");
        assert!(matches!(report.backoff, Some(BackoffChange::Entered(wait)) if Some(wait) == report.wait));
    }
}

/// C34.
#[test]
fn no_answer_at_all_is_tried_again_later() {
    use TransportError as E;
    for error in [E::Connect, E::Timeout, E::Tls, E::Broken, E::TooLarge] {
        let rig = Rig::new();
        rig.append("a", 2);
        rig.server.behave(move |_| Some(Err(error)));
        assert_eq!(rig.flush().end, PassEnd::Failed(LaneFault::Transport(error)));
        assert!(rig.rows().iter().all(StoredRow::is_untouched));
        rig.server.behave(|_| None);
        rig.clock.advance(Duration::from_secs(1));
        let report = rig.flush();
        assert_eq!((report.acked, report.backoff), (2, Some(BackoffChange::Cleared)));
    }
}

/// C23.
#[test]
fn a_portals_200_is_no_answer() {
    for body in ["<html>log in</html>", "{}", "[]", "", "null"] {
        let rig = Rig::new();
        rig.append("a", 2);
        rig.server.behave(move |_| Some(Ok(ok(body))));
        assert_eq!(rig.flush().end, PassEnd::Failed(LaneFault::NotTheContract), "{body:?}");
        assert!(rig.rows().iter().all(StoredRow::is_untouched) && rig.rows().len() == 2);
    }
}

/// C31, C34.
#[test]
fn a_refused_token_is_refreshed_once_and_the_batch_sent_again() {
    for code in [401, 403] {
        let rig = Rig::new();
        rig.append("a", 2);
        rig.server.behave(move |seen| if seen.token.as_deref() == Some("T1") { status(code) } else { None });
        let report = rig.flush();
        assert_eq!((report.requests, report.acked, report.end), (2, 2, PassEnd::Done));
        let tokens: Vec<_> = rig.server.seen().into_iter().map(|seen| seen.token.unwrap()).collect();
        assert_eq!(tokens, ["T1", "T2"]);
    }
}

/// C16, C31, C34.
#[test]
fn a_fresh_token_refused_too_is_a_fault_of_the_lane() {
    let rig = Rig::new();
    rig.append("a", 2);
    rig.server.behave(|_| status(401));
    let report = rig.flush();
    assert_eq!((report.requests, report.end), (2, PassEnd::Failed(LaneFault::Auth(401))));
    assert!(rig.rows().iter().all(StoredRow::is_untouched));
}

#[test]
fn without_a_token_nothing_is_sent() {
    let rig = Rig::new();
    let tokens = |_| Err(TokenError("signed out".to_owned()));
    let transport: Arc<dyn Transport> = Arc::clone(&rig.server) as Arc<dyn Transport>;
    let flusher = Flusher::new(rig.outbox.clone(), tuned(1), transport, Arc::new(tokens)).unwrap();
    assert_eq!(flusher.flush().unwrap().end, PassEnd::Done, "nobody is asked while nothing is pending");
    rig.append("a", 1);
    let report = flusher.flush().unwrap();
    assert_eq!(report.end, PassEnd::Failed(LaneFault::Token(TokenError("signed out".to_owned()))));
    assert!(rig.server.seen().is_empty());
    assert_eq!(flusher.flush().unwrap().end, PassEnd::BackingOff);
}

#[test]
fn a_report_goes_to_whoever_listens_and_never_for_acks_alone() {
    let rig = Rig::with(OutboxOptions::default(), tuned(2));
    let (reports, batches) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(Vec::new())));
    let (record, count) = (Arc::clone(&reports), Arc::clone(&batches));
    let on_report = rig.flusher.on_report(move |report| record.lock().unwrap().push(report.clone()));
    let _on_batch = rig.flusher.on_batch(move |batch| count.lock().unwrap().push(batch.acked));
    rig.append("a", 5);
    rig.flush();
    assert!(reports.lock().unwrap().is_empty());
    assert_eq!(*batches.lock().unwrap(), [2, 2, 1]);
    rig.append("a", 1);
    rig.server.behave(|seen| verdicts(seen.ids.iter().map(|id| (id, "refused"))));
    rig.flush();
    assert_eq!(reports.lock().unwrap()[0].refused, 1);
    drop(on_report);
    rig.append("a", 1);
    rig.flush();
    assert_eq!(reports.lock().unwrap().len(), 1);
}

#[test]
fn nothing_that_prints_shows_a_payload_or_a_token() {
    let credentials = format!("{:?}", Credentials::bearer("s3cret").for_account("s3cret"));
    let request = format!("{:?}", PostRequest { body: b"s3cret", token: Some("s3cret") });
    let response =
        format!("{:?}", PostResponse { status: 1, retry_after: None, date: None, body: b"s3cret".to_vec() });
    let append = Rig::new().outbox.append_json("a", "{\"n\":\"s3cret\"}").unwrap_err();
    let append = format!("{append} {append:?}");
    for text in [credentials, request, response, append] {
        assert!(!text.contains("s3cret") && !text.contains("115, 51"), "{text}");
    }
}

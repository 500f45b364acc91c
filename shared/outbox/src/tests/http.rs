//! The HTTP transport against a real server on loopback.

use std::time::Duration;

use eventlane_testkit::scripted_http::{Reply, ScriptedHttp};

use super::*;

fn flusher_to(server: &ScriptedHttp) -> (Rig, Flusher) {
    let rig = Rig::with(OutboxOptions::default(), tuned(2));
    let transport = Arc::new(HttpTransport::new(&server.events_url()).unwrap());
    let tokens = Arc::new(|_| Ok(Credentials::bearer("T1")));
    let flusher = Flusher::new(rig.outbox.clone(), tuned(2), transport, tokens).unwrap();
    (rig, flusher)
}

#[test]
fn batches_arrive_as_the_wire_says() {
    let server = ScriptedHttp::start([]);
    let (rig, flusher) = flusher_to(&server);
    let ids = rig.append("a", 3);
    let report = flusher.flush().unwrap();
    assert_eq!((report.acked, report.requests, report.end), (3, 2, PassEnd::Done));
    let received = server.received();
    for request in &received {
        assert_eq!((request.method.as_str(), request.target.as_str()), ("POST", "/api/events"));
        assert_eq!(request.headers["authorization"], "Bearer T1");
        assert_eq!(request.headers["content-type"], "application/json");
    }
    let sent: Vec<String> = received
        .iter()
        .flat_map(|request| {
            let batch = Batch::parse(&request.body).unwrap();
            batch.events.iter().map(|event| event.event_id.to_string()).collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(sent, ids);
}

/// C24.
#[test]
fn redirects_are_never_followed_and_never_a_success() {
    for status in [301, 302, 303, 307, 308] {
        let elsewhere = ScriptedHttp::start([]);
        let location = vec![("location", elsewhere.events_url())];
        let server = ScriptedHttp::start([Reply::Raw { status, headers: location, body: String::new() }]);
        let (rig, flusher) = flusher_to(&server);
        rig.append("a", 1);
        assert_eq!(flusher.flush().unwrap().end, PassEnd::Failed(LaneFault::Status(status)));
        assert_eq!((rig.rows().len(), server.left()), (1, 0));
        assert!(elsewhere.received().is_empty(), "the token stays at home");
    }
}

/// C24: where a GET would find a page that says 200.
#[test]
fn a_redirect_that_would_lose_the_body_is_followed_nowhere() {
    for status in [301, 302, 303] {
        let location = vec![("location", "/elsewhere".to_owned())];
        let server = ScriptedHttp::start([Reply::Raw { status, headers: location, body: String::new() }]);
        let (rig, flusher) = flusher_to(&server);
        rig.append("a", 1);
        assert_eq!(flusher.flush().unwrap().end, PassEnd::Failed(LaneFault::Status(status)));
        assert_eq!((server.received().len(), rig.rows().len()), (1, 1), "no second request");
    }
}

/// C23.
#[test]
fn faults_of_the_road_are_told_apart_and_delete_nothing() {
    let too_large = Reply::ok(" ".repeat(3_000_000));
    for (reply, fault) in [
        (Reply::Reset, LaneFault::Transport(TransportError::Broken)),
        (too_large, LaneFault::Transport(TransportError::TooLarge)),
        (Reply::ok("<html>"), LaneFault::NotTheContract),
        (Reply::status(204), LaneFault::Status(204)),
    ] {
        let server = ScriptedHttp::start([reply]);
        let (rig, flusher) = flusher_to(&server);
        rig.append("a", 2);
        assert_eq!(flusher.flush().unwrap().end, PassEnd::Failed(fault));
        assert_eq!((server.left(), server.received().len()), (0, 1), "the fault was met, once");
        assert!(rig.rows().iter().all(StoredRow::is_untouched) && rig.rows().len() == 2);
        rig.clock.advance(Duration::from_secs(1));
        assert_eq!(flusher.flush().unwrap().acked, 2);
    }
}

#[test]
fn nobody_there_is_a_fault_of_the_road() {
    let server = ScriptedHttp::start([]);
    let (rig, flusher) = flusher_to(&server);
    drop(server);
    rig.append("a", 1);
    let end = flusher.flush().unwrap().end;
    assert_eq!(end, PassEnd::Failed(LaneFault::Transport(TransportError::Connect)));
}

#[test]
fn retry_after_reaches_the_lane() {
    let headers = vec![("retry-after", "120".to_owned())];
    let server = ScriptedHttp::start([Reply::Raw { status: 503, headers, body: String::new() }]);
    let (rig, flusher) = flusher_to(&server);
    rig.append("a", 1);
    assert_eq!(flusher.flush().unwrap().wait, Some(Duration::from_secs(120)));
}

#[test]
fn a_secure_connection_to_a_plain_server_fails_without_a_panic() {
    // Proves that the TLS provider is there: without one, the first handshake panics.
    let server = ScriptedHttp::start([]);
    let url = server.events_url().replace("http://", "https://");
    let transport = HttpTransport::new(&url).unwrap();
    let outcome = transport.post(PostRequest { body: b"{}", token: None });
    assert!(matches!(outcome, Err(TransportError::Tls | TransportError::Broken)), "{outcome:?}");
    assert!(server.received().is_empty());
}

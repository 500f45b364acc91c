//! Faults of the whole request, in the order of the stages.

use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};

use eventlane_contracts::Clock;
use eventlane_contracts::limits::BODY_BYTES;

use super::*;

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

#[tokio::test]
async fn other_routes_and_methods_are_told_so() {
    let door = door();
    for path in ["/", "/api", "/api/events/", "/api/event"] {
        let answered = door.ask(Request::post(path).body(Body::empty()).unwrap()).await;
        assert_eq!(answered.status, 404, "{path}");
        assert!(answered.body["message"].is_string());
    }
    for (path, allowed, methods) in [
        ("/api/events", "POST", ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"]),
        ("/healthz", "GET, HEAD", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT"]),
    ] {
        for method in methods {
            let request = Request::builder().method(method).uri(path).body(Body::empty()).unwrap();
            let answered = door.ask(request).await;
            assert_eq!(
                (answered.status, answered.headers["allow"].to_str().unwrap()),
                (405, allowed),
                "{method}"
            );
            assert_eq!(answered.body["message"].is_string(), method != "HEAD", "{method} {path}");
        }
    }
}

#[tokio::test]
async fn health_is_told_to_everyone_and_touches_nothing() {
    let faults = BTreeMap::from([("any_thing", EnqueueError::Unavailable("down".into()))]);
    let door = door_with(Queues { faults, ..Queues::default() }, Arc::new(AdmitAll), registry());
    let ask = async |method: &str| {
        door.ask(Request::builder().method(method).uri("/healthz").body(Body::empty()).unwrap()).await
    };
    let answered = ask("GET").await;
    assert_eq!(answered.status, 200);
    assert_eq!(answered.body, json!({"status": "ok", "version": env!("CARGO_PKG_VERSION")}));
    let head = ask("HEAD").await;
    assert_eq!((head.status, head.body), (200, Value::Null));
    assert_eq!(*door.queues.calls.lock().unwrap(), 0);
    let empty = door_with(Queues::default(), Arc::new(AdmitAll), Registry::default());
    let request = Request::get("/healthz").body(Body::empty()).unwrap();
    assert_eq!(empty.ask(request).await.status, 200, "without streams too");
}

#[tokio::test]
async fn a_body_that_never_ends_is_answered_and_its_connection_closed() {
    let stalled = Body::from_stream(futures::stream::pending::<Result<axum::body::Bytes, std::io::Error>>());
    let fault = crate::body::read(stalled, Some(BODY_BYTES), std::time::Duration::ZERO).await.unwrap_err();
    let answer = crate::answer::fault(&fault);
    assert_eq!((answer.status().as_u16(), answer.headers()["connection"].as_bytes()), (408, &b"close"[..]));
    assert!(fault.is_retryable());
}

/// Panics where no event can be blamed, twice.
#[derive(Debug, Default)]
struct Fragile(AtomicUsize);

impl Clock for Fragile {
    fn now_us(&self) -> i64 {
        assert!(self.0.fetch_add(1, Ordering::SeqCst) >= 2, "s3cret");
        1_760_000_000_000_000
    }
}

#[tokio::test]
async fn a_panic_outside_any_event_is_one_answer_and_the_door_stays_open() {
    let settings = TokenSettings { hs256_secret: Some(HS256_SECRET.into()), ..TokenSettings::default() };
    let tokens = settings.verifier(&registry(), Arc::new(Fragile::default())).unwrap();
    let door = door_for(tokens, Queues::default(), Arc::new(AdmitAll), registry(), IngestOptions::default());
    for _ in 0..2 {
        let answered = door.send(&[Event::new(1, "any_thing", "1")]).await;
        assert_eq!(answered.status, 500);
        assert!(answered.body["message"].is_string() && !answered.body.to_string().contains("s3cret"));
    }
    assert_eq!(door.send(&[Event::new(1, "any_thing", "1")]).await.verdicts(), ["acked"]);
}

#[tokio::test]
async fn without_a_stream_there_is_no_route() {
    let door = door_with(Queues::default(), Arc::new(AdmitAll), Registry::default());
    assert_eq!(door.send(&[Event::new(1, "any_thing", "1")]).await.status, 404);
}

#[tokio::test]
async fn a_stranger_costs_no_parsing() {
    let door = door();
    for value in [None, Some("Bearer"), Some("Basic abc"), Some("Bearer x"), Some("Bearer a.b.c")] {
        let mut builder = Request::post("/api/events");
        if let Some(value) = value {
            builder = builder.header("authorization", value);
        }
        // A body that would be 400 is not even looked at.
        let answered = door.ask(builder.body("{".into()).unwrap()).await;
        assert_eq!(answered.status, 401, "{value:?}");
        assert_eq!(answered.headers["www-authenticate"].as_bytes(), b"Bearer", "{value:?}");
        assert!(!answered.body.to_string().contains("a.b.c"));
    }
    let mut twice = request("{");
    twice.headers_mut().append("authorization", format!("Bearer {}", token()).parse().unwrap());
    assert_eq!(door.ask(twice).await.status, 401, "two tokens prove nothing");
    let mut lower = request(batch(&[Event::new(1, "any_thing", "1")]));
    lower.headers_mut().insert("authorization", format!("bearer  {}", token()).parse().unwrap());
    assert_eq!(door.ask(lower).await.status, 200, "the scheme's case and spaces don't count");
}

#[tokio::test]
async fn a_declared_length_over_the_limit_is_refused_before_the_token() {
    let mut request = Request::post("/api/events").body(Body::empty()).unwrap();
    request.headers_mut().insert("content-length", (BODY_BYTES + 1).to_string().parse().unwrap());
    assert_eq!(door().ask(request).await.status, 413);
}

#[test]
fn a_client_in_mid_sentence_hears_the_answer_and_not_a_broken_pipe() {
    let server = eventlane_testkit::server::LocalServer::start(door().router);
    let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
    let post = |token: &str, bytes: usize| {
        let request = agent.post(format!("{}/api/events", server.url()));
        let request = request.header("authorization", format!("Bearer {token}"));
        request.send("x".repeat(bytes)).unwrap().status().as_u16()
    };
    for _ in 0..5 {
        assert_eq!(post("a.b.c", BODY_BYTES), 401);
        assert_eq!(post(&token(), 2 * BODY_BYTES), 413);
    }
}

#[tokio::test]
async fn the_body_is_bounded_as_read_and_as_decoded() {
    let door = door();
    let fits = batch(&[Event::new(1, "any_thing", "1")]);
    let padded = |bytes: usize| format!("{fits}{}", " ".repeat(bytes - fits.len()));
    assert_eq!(door.ask(request(padded(BODY_BYTES))).await.status, 200);
    assert_eq!(door.ask(request(padded(BODY_BYTES + 1))).await.status, 413);
    for (bytes, status) in [(BODY_BYTES, 200), (BODY_BYTES + 1, 413), (400_000_000, 413)] {
        let bomb = gzip(padded(bytes).as_bytes());
        assert!(bomb.len() < BODY_BYTES);
        let mut request = request(bomb);
        request.headers_mut().insert("content-encoding", "gzip".parse().unwrap());
        assert_eq!(door.ask(request).await.status, status, "{bytes}");
    }
}

#[tokio::test]
async fn encodings_are_plain_gzip_or_refused() {
    let door = door();
    let plain = batch(&[Event::new(1, "any_thing", "1")]);
    for (encoding, body, status) in [
        ("identity", plain.clone().into_bytes(), 200),
        ("GZIP", gzip(plain.as_bytes()), 200),
        ("gzip", plain.clone().into_bytes(), 400),
        ("br", plain.clone().into_bytes(), 415),
        ("gzip, gzip", gzip(&gzip(plain.as_bytes())), 415),
    ] {
        let mut request = request(body);
        request.headers_mut().insert("content-encoding", encoding.parse().unwrap());
        assert_eq!(door.ask(request).await.status, status, "{encoding}");
    }
}

#[tokio::test]
async fn framing_is_one_fault_for_the_batch_and_nothing_is_queued() {
    let door = door();
    let good = Event::new(1, "any_thing", "1");
    for body in [b"".to_vec(), b"{".to_vec(), b"{\"events\":[]}".to_vec(), b"\xff".to_vec()] {
        assert_eq!(door.ask(request(body)).await.status, 400);
    }
    let strange = good.clone().event_id("not-a-uuid");
    assert_eq!(door.send(&[good.clone(), strange]).await.status, 400);
    let many: Vec<Event> = (0..1001).map(|n| Event::new(n, "any_thing", "1")).collect();
    assert_eq!(door.send(&many).await.status, 413);
    assert_eq!(*door.queues.calls.lock().unwrap(), 0);
}

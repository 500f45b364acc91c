//! The transport's options against real servers: private roots, gzip, redirects within the origin.

use std::io::Read;
use std::time::Duration;

use eventlane_testkit::scripted_http::{Reply, ScriptedHttp};
use eventlane_testkit::secure::{ROOT, SecureServer};

use super::*;

const ANSWER: &str = "HTTP/1.1 503 Later\r\ncontent-length: 0\r\nretry-after: 7\r\n\r\n";

/// A server with a certificate of the private root; its answer is a 503.
fn secure_server() -> (String, SecureServer) {
    let server = SecureServer::start(ANSWER.to_owned());
    (format!("{}/api/events", server.url()), server)
}

fn post(url: &str, options: &HttpOptions) -> Result<PostResponse, TransportError> {
    HttpTransport::with(url, options).unwrap().post(PostRequest { body: b"{}", token: Some("T1") })
}

#[test]
fn a_private_root_is_trusted_when_given_and_only_then() {
    let (url, server) = secure_server();
    let trusting = HttpOptions { root_certificates: Some(ROOT.to_owned()), ..HttpOptions::default() };
    let response = post(&url, &trusting).unwrap();
    assert_eq!((response.status, response.retry_after.as_deref()), (503, Some("7")));
    assert!(server.received().is_some());
    // C34: the handshake's failure comes wrapped, and is told apart all the same.
    let (url, server) = secure_server();
    assert_eq!(post(&url, &HttpOptions::default()), Err(TransportError::Tls));
    assert_eq!(server.received(), None, "no byte of the request, nor the token, was sent");
}

#[test]
fn a_name_that_doesnt_resolve_is_a_fault_of_the_road() {
    // C34: `.invalid` never resolves, with or without a network.
    let outcome = post("https://nowhere.invalid/api/events", &HttpOptions::default());
    assert_eq!(outcome, Err(TransportError::Connect));
}

#[test]
fn options_that_make_no_sense_are_named_with_the_url() {
    let options = HttpOptions {
        root_certificates: Some("no PEM".to_owned()),
        connect_timeout: Duration::ZERO,
        ..HttpOptions::default()
    };
    let error = HttpTransport::with("ftp://example.com/api/events", &options).unwrap_err();
    assert_eq!(error.offenders().len(), 3, "{error}");
}

fn gzip_rig(script: impl IntoIterator<Item = Reply>) -> (Rig, ScriptedHttp, Flusher) {
    let server = ScriptedHttp::start(script);
    let rig = Rig::new();
    let options = HttpOptions { gzip: true, ..HttpOptions::default() };
    let transport = Arc::new(HttpTransport::with(&server.events_url(), &options).unwrap());
    let tokens = Arc::new(|_| Ok(Credentials::bearer("T1")));
    let flusher = Flusher::new(rig.outbox.clone(), tuned(50), transport, tokens).unwrap();
    (rig, server, flusher)
}

#[test]
fn larger_bodies_are_gzipped_when_asked_to() {
    let (rig, server, flusher) = gzip_rig([Reply::status(503)]);
    rig.append("a", 50);
    flusher.flush().unwrap();
    let received = server.received();
    assert_eq!(received[0].headers["content-encoding"], "gzip");
    let mut body = Vec::new();
    flate2::read::GzDecoder::new(&received[0].body[..]).read_to_end(&mut body).unwrap();
    assert_eq!(Batch::parse(&body).unwrap().events.len(), 50);
    assert!(received[0].body.len() < body.len() / 3);
}

#[test]
fn a_server_that_takes_no_gzip_gets_it_plain_at_once_and_from_then_on() {
    let (rig, server, flusher) = gzip_rig([Reply::status(415)]);
    rig.append("a", 100);
    let report = flusher.flush().unwrap();
    assert_eq!((report.acked, report.end), (100, PassEnd::Done));
    let encodings: Vec<bool> =
        server.received().iter().map(|request| request.headers.contains_key("content-encoding")).collect();
    assert_eq!(encodings, [true, false, false]);
}

#[test]
fn a_plain_415_is_a_fault_of_the_lane() {
    let (rig, server, flusher) = gzip_rig([Reply::status(415), Reply::status(415)]);
    rig.append("a", 50);
    assert_eq!(flusher.flush().unwrap().end, PassEnd::Failed(LaneFault::Status(415)));
    assert_eq!((server.received().len(), rig.rows().len()), (2, 50));
}

fn redirect(status: u16, location: String) -> Reply {
    Reply::Raw { status, headers: vec![("location", location)], body: String::new() }
}

#[test]
fn a_307_or_308_within_the_origin_is_followed_with_the_same_body() {
    // C24
    for status in [307, 308] {
        let server = ScriptedHttp::start([redirect(status, "/v2/events".to_owned())]);
        let rig = Rig::new();
        let ids = rig.append("a", 2);
        let transport = Arc::new(HttpTransport::new(&server.events_url()).unwrap());
        let tokens = Arc::new(|_| Ok(Credentials::bearer("T1")));
        let flusher = Flusher::new(rig.outbox.clone(), tuned(2), transport, tokens).unwrap();
        assert_eq!(flusher.flush().unwrap().acked, 2);
        let received = server.received();
        assert_eq!((received[1].method.as_str(), received[1].target.as_str()), ("POST", "/v2/events"));
        assert_eq!(received[1].headers["authorization"], "Bearer T1");
        assert_eq!(received[0].body, received[1].body);
        assert_eq!(Batch::parse(&received[1].body).unwrap().events.len(), ids.len());
    }
}

#[test]
fn a_circle_of_redirects_ends() {
    let circle = (0..100).map(|_| redirect(308, "/api/events".to_owned()));
    let server = ScriptedHttp::start(circle);
    assert_eq!(post(&server.events_url(), &HttpOptions::default()).unwrap().status, 308);
    assert!(server.received().len() <= 5);
}

#[test]
fn a_token_source_that_hangs_ends_the_pass_without_a_token() {
    // F10
    let rig = Rig::new();
    rig.append("a", 1);
    let (release, released) = std::sync::mpsc::channel::<()>();
    let released = Mutex::new(released);
    let tokens = move |_| {
        let _ = released.lock().unwrap().recv();
        Ok(Credentials::bearer("late"))
    };
    let transport: Arc<dyn Transport> = Arc::clone(&rig.server) as Arc<dyn Transport>;
    let tuning = FlushOptions { token_timeout: Some(Duration::from_millis(1)), ..tuned(1) };
    let flusher = Flusher::new(rig.outbox.clone(), tuning, transport, Arc::new(tokens)).unwrap();
    let end = flusher.flush().unwrap().end;
    assert!(
        matches!(&end, PassEnd::Failed(LaneFault::Token(error)) if error.0.contains("longer than")),
        "{end:?}"
    );
    flusher.online();
    let end = flusher.flush().unwrap().end;
    assert!(
        matches!(&end, PassEnd::Failed(LaneFault::Token(error)) if error.0.contains("still hangs")),
        "{end:?}"
    );
    assert!(rig.server.seen().is_empty() && rig.rows()[0].is_untouched());
    drop(release);
}

//! A body may fit the wire and outgrow the event that carries it: the client keeps both limits.

use std::sync::Arc;

use eventlane_contracts::limits::{BODY_BYTES, LAMBDA_EVENT_BYTES};
use eventlane_contracts::{Registry, Stream};
use eventlane_outbox::{
    Credentials, FlushOptions, Flusher, HttpOptions, HttpTransport, Outbox, OutboxOptions, PassEnd,
};
use eventlane_testkit::envelopes::{Event, batch};
use eventlane_testkit::tokens;
use serde_json::json;

use crate::support::earthquake;
use crate::support::function::Function;
use crate::support::gateway::{self, LAMBDA_BYTES};

fn token() -> String {
    tokens::hs256(&json!({"sub": "tester", "app_metadata": {"person_id": 7}, "exp": tokens::FAR_EXPIRY}))
}

/// `["","",…]`: each quote gains a backslash inside an event.
fn quotes(bytes: usize) -> String {
    format!("[{}\"\"]", "\"\",".repeat(bytes / 3 - 1))
}

#[test]
fn the_wires_largest_body_may_be_more_than_lambda_takes() {
    let function = Function::start(&[]);
    let gateway = gateway::start(Arc::clone(&function.api));
    let events: Vec<Event> = (0..63).map(|n| Event::new(n, "not_deployed", quotes(65_000))).collect();
    let body = batch(&events);
    assert!(body.len() <= BODY_BYTES && body.len() > BODY_BYTES - 100_000, "{}", body.len());
    let post = |body: &str| {
        let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
        let url = format!("{}/api/events", gateway.server.url());
        let request = agent.post(url).header("authorization", format!("Bearer {}", token()));
        request.send(body).unwrap().status().as_u16()
    };
    assert_eq!(post(&body), 413, "the gateway's, not the function's");
    assert_eq!(post(&batch(&events[..40])), 200);
    assert!(gateway.events()[0] > LAMBDA_BYTES);
}

#[test]
fn the_client_never_sends_one_that_outgrows_it() {
    for gzip in [false, true] {
        let function = Function::start(&[]);
        let gateway = gateway::start(Arc::clone(&function.api));
        let folder = tempfile::tempdir().unwrap();
        // A little over what one request holds: 1,000 events of 5 KB, most of it quotes.
        let quote = |count: usize| format!("\"{}\"", "\\\"".repeat(count));
        let payload = earthquake(&[
            ("types", &quote(1000)),
            ("ids", &quote(500)),
            ("title", &quote(300)),
            ("place", &quote(200)),
            ("sources", &quote(200)),
        ]);
        let registry = Arc::new(eventlane_lane::registry().unwrap());
        let outbox =
            Outbox::open(folder.path().join("outbox.db"), registry, OutboxOptions::default()).unwrap();
        let appended = outbox.append_all("earthquake", vec![payload.as_str(); 1500]);
        assert!(appended.unwrap().iter().all(Result::is_ok));
        let options = HttpOptions { gzip, ..HttpOptions::default() };
        let url = format!("{}/api/events", gateway.server.url());
        let transport = Arc::new(HttpTransport::with(&url, &options).unwrap());
        let tokens = Arc::new(|_: bool| Ok(Credentials::bearer(token())));
        let options = FlushOptions { batch_size: Some(1000), ..FlushOptions::default() };
        let flusher = Flusher::new(outbox, options, transport, tokens).unwrap();
        let report = flusher.flush().unwrap();
        assert_eq!(report.end, PassEnd::Done, "gzip {gzip}");
        assert_eq!(flusher.outbox().pending().unwrap(), 0);
        let events = gateway.events();
        assert!(events.iter().all(|bytes| *bytes <= LAMBDA_BYTES), "{events:?}");
        if gzip {
            assert!(events.iter().all(|bytes| *bytes < 1_000_000), "they came as gzip: {events:?}");
        } else {
            assert!(
                events.iter().any(|bytes| *bytes > LAMBDA_EVENT_BYTES - 20_000),
                "they came full: {events:?}"
            );
        }
        let queued: usize = function
            .sqs
            .messages("lane-earthquake")
            .iter()
            .map(|message| message.body.matches("\"eventId\"").count())
            .sum();
        assert_eq!(queued, 1500);
    }
}

#[test]
fn a_list_of_quotes_fits_too_though_nobody_takes_it_yet() {
    let function = Function::start(&[]);
    let gateway = gateway::start(Arc::clone(&function.api));
    let folder = tempfile::tempdir().unwrap();
    let lists = Stream::json_schema("only_here", json!({"type": "array", "items": {"type": "string"}}));
    let registry = Arc::new(Registry::define([lists]).unwrap());
    let outbox = Outbox::open(folder.path().join("outbox.db"), registry, OutboxOptions::default()).unwrap();
    for _ in 0..100 {
        outbox.append_json("only_here", &quotes(65_000)).unwrap();
    }
    let url = format!("{}/api/events", gateway.server.url());
    let tokens = Arc::new(|_: bool| Ok(Credentials::bearer(token())));
    let transport = Arc::new(HttpTransport::new(&url).unwrap());
    let flusher = Flusher::new(outbox, FlushOptions::default(), transport, tokens).unwrap();
    flusher.flush().unwrap();
    let events = gateway.events();
    assert!(!events.is_empty() && events.iter().all(|bytes| *bytes <= LAMBDA_BYTES), "{events:?}");
    assert!(events[0] > LAMBDA_EVENT_BYTES - 200_000, "it came full: {events:?}");
    assert_eq!(flusher.outbox().pending().unwrap(), 100, "deferred events stay");
}

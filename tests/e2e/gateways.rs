//! Whatever stands in front of the function, a batch is judged the same, and no event ends it.

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use eventlane_testkit::envelopes::{Event, batch};
use eventlane_testkit::runtime_api::Outcome;
use eventlane_testkit::tokens;
use serde_json::{Value, json};

use crate::support::fixture;
use crate::support::function::Function;

const GATEWAYS: [&str; 5] = ["http-api-v2", "rest-v1", "function-url", "alb", "alb-multi-value"];

const ISSUE: &str = r#"{"issueId":"b48b36ee-0d62-4382-8f6b-17f0b6b3bd77"}"#;

/// A gateway's event without a body.
fn event(gateway: &str) -> Value {
    let text = std::fs::read_to_string(fixture(&format!("gateway/{gateway}.json"))).unwrap();
    let mut event: Value = serde_json::from_str(&text).unwrap();
    set(&mut event, "authorization", Some(&format!("Bearer {}", token())));
    event
}

fn token() -> String {
    tokens::hs256(&json!({"sub": "tester", "app_metadata": {"person_id": 7}, "exp": tokens::FAR_EXPIRY}))
}

/// Sets or removes a header in each of the forms the gateway gives it in.
fn set(event: &mut Value, name: &str, value: Option<&str>) {
    for (form, new) in [("headers", json!(value)), ("multiValueHeaders", json!([value]))] {
        let Some(headers) = event[form].as_object_mut() else { continue };
        headers.retain(|known, _| !known.eq_ignore_ascii_case(name));
        if value.is_some() {
            headers.insert(name.to_owned(), new);
        }
    }
}

fn text(gateway: &str, body: &str) -> Value {
    let mut event = event(gateway);
    event["body"] = body.into();
    event
}

fn binary(gateway: &str, body: &[u8]) -> Value {
    let mut event = event(gateway);
    event["body"] = STANDARD.encode(body).into();
    event["isBase64Encoded"] = true.into();
    event
}

fn gzip(plain: &str) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(plain.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn a_batch_is_judged_the_same_however_it_is_wrapped() {
    let function = Function::start(&[]);
    let body = batch(&[
        Event::new(1, "issue_viewed", ISSUE),
        Event::new(2, "issue_viewed", r#"{"issueId":"\ud800"}"#),
        Event::new(3, "not_deployed", "1"),
    ]);
    for gateway in GATEWAYS {
        let mut odd_type = text(gateway, &body);
        set(&mut odd_type, "content-type", Some("text/plain; charset=weird"));
        let mut without_type = binary(gateway, body.as_bytes());
        set(&mut without_type, "content-type", None);
        let mut zipped = binary(gateway, &gzip(&body));
        set(&mut zipped, "content-encoding", Some("gzip"));
        for wrapped in
            [text(gateway, &body), binary(gateway, body.as_bytes()), odd_type, without_type, zipped]
        {
            let sends = function.sends();
            let answer = function.answer(&wrapped);
            assert_eq!(answer.status(), 200, "{gateway}: {}", answer.body());
            assert_eq!(answer.verdicts(), ["acked", "rejected", "deferred"], "{gateway}");
            assert_eq!(answer.header("content-type"), Some("application/json;charset=utf-8"), "{gateway}");
            assert_eq!(function.sends(), sends + 1, "{gateway}");
        }
    }
    assert_eq!(function.sqs.messages("lane-issue_viewed").len(), GATEWAYS.len() * 5, "acked is queued");
}

#[test]
fn stages_route_right_whatever_the_librarys_variable_says() {
    const IGNORE: &str = "AWS_LAMBDA_HTTP_IGNORE_STAGE_IN_PATH";
    let body = batch(&[Event::new(1, "issue_viewed", ISSUE)]);
    let runs: [&[(&str, &str)]; 3] =
        [&[], &[(IGNORE, "false")], &[(IGNORE, "true"), ("EVENTLANE_BASE_PATH", "/v1")]];
    for variables in runs {
        let function = Function::start(variables);
        for (path, stage) in [
            ("/api/events", "$default"),
            ("/prod/api/events", "prod"),
            ("/api/events", "prod"),
            ("/api/events", "api"),
            ("/api/api/events", "api"),
        ] {
            for (gateway, place) in [("http-api-v2", "rawPath"), ("rest-v1", "path")] {
                let mut event = text(gateway, &body);
                event[place] = path.into();
                event["requestContext"]["stage"] = stage.into();
                // Both gateways' catch-all routes: nothing but path and stage is told.
                event["routeKey"] = "$default".into();
                event["resource"] = "/{proxy+}".into();
                assert_eq!(
                    function.answer(&event).verdicts(),
                    ["acked"],
                    "{variables:?} {gateway} {path} {stage}"
                );
            }
        }
    }
}

#[test]
fn an_event_that_is_no_request_is_an_error_and_the_next_one_is_answered() {
    let mut function = Function::start(&[]);
    let good = batch(&[Event::new(1, "issue_viewed", ISSUE)]);
    let mut bad_base64 = text("http-api-v2", &good);
    bad_base64["isBase64Encoded"] = true.into();
    let scheduled = json!({"version": "0", "id": "53dc4d37", "detail-type": "Scheduled Event", "source": "aws.events",
        "account": "123456789012", "time": "2025-11-30T12:00:00Z", "region": "eu-west-1", "resources": [], "detail": {}});
    for event in [json!({}), json!(null), json!([]), json!("x"), scheduled, bad_base64] {
        match function.outcome(&event) {
            Outcome::Error { kind, body } => {
                assert!(!kind.is_empty(), "{body}");
                assert!(!body.to_string().contains("issueId"), "an error quotes no payload: {body}");
            }
            Outcome::Response(answer) => panic!("{event} was answered: {answer}"),
        }
        assert_eq!(function.answer(&text("http-api-v2", &good)).verdicts(), ["acked"], "after {event}");
    }
    assert!(function.is_running());
}

#[test]
fn what_a_stranger_writes_into_host_path_or_query_is_no_error_of_the_function() {
    let function = Function::start(&[]);
    let good = batch(&[Event::new(1, "issue_viewed", ISSUE)]);
    for gateway in GATEWAYS {
        for host in ["[", "a b", ":::", "\u{e9}"] {
            let mut event = text(gateway, &good);
            set(&mut event, "host", Some(host));
            assert_eq!(function.answer(&event).verdicts(), ["acked"], "{gateway} {host}");
        }
        let mut odd = text(gateway, &good);
        for (place, value) in [
            ("path", json!("/a b\u{e9}[")),
            ("rawPath", json!("/a b\u{e9}[")),
            ("rawQueryString", json!("a b[\u{e9}")),
            ("queryStringParameters", json!({"a b": "["})),
            ("resource", json!("/{proxy+}")),
            ("routeKey", json!("$default")),
        ] {
            if odd.get(place).is_some() {
                odd[place] = value;
            }
        }
        assert_eq!(function.answer(&odd).status(), 404, "{gateway}");
    }
}

#[test]
fn one_events_trouble_is_its_own_and_nothing_to_queue_is_no_call() {
    let function = Function::start(&[]);
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    for payload in
        [r#"{"issueId":"\ud800"}"#.to_owned(), nested(65), nested(126), nested(200), nested(30_000)]
    {
        let around = [
            Event::new(1, "issue_viewed", ISSUE),
            Event::new(2, "issue_viewed", payload.clone()),
            Event::new(3, "issue_viewed", ISSUE),
        ];
        let sends = function.sends();
        let answer = function.answer(&text("http-api-v2", &batch(&around)));
        assert_eq!(answer.verdicts(), ["acked", "rejected", "acked"], "{}", &payload[..10]);
        assert_eq!(function.sends(), sends + 1);
        let alone = function.answer(&text("http-api-v2", &batch(&around[1..2])));
        assert_eq!((alone.status(), alone.verdicts()), (200, vec!["rejected".to_owned()]));
        assert_eq!(function.sends(), sends + 1, "a batch with nothing to queue calls nobody");
    }
    assert_eq!(function.answer(&text("http-api-v2", r#"{"events":[]}"#)).status(), 400);
}

#[test]
fn health_methods_and_origins_are_answered_through_every_gateway() {
    const APP: &str = "https://app.example.com";
    let function = Function::start(&[("EVENTLANE_CORS_ORIGINS", APP)]);
    let ask = |gateway: &str, method: &str, path: &str| {
        let mut event = event(gateway);
        set(&mut event, "authorization", None);
        set(&mut event, "origin", Some(APP));
        event["requestContext"]["stage"] = "$default".into();
        for (place, value) in [
            ("path", path),
            ("rawPath", path),
            ("httpMethod", method),
            ("resource", "/{proxy+}"),
            ("routeKey", "$default"),
        ] {
            if event.get(place).is_some() {
                event[place] = value.into();
            }
        }
        for place in ["http", "httpMethod"] {
            match event["requestContext"].get_mut(place) {
                Some(Value::Object(http)) => drop(http.insert("method".into(), method.into())),
                Some(text) => *text = method.into(),
                None => {}
            }
        }
        function.answer(&event)
    };
    for gateway in GATEWAYS {
        let health = ask(gateway, "GET", "/healthz");
        assert_eq!((health.status(), health.body()["status"].as_str()), (200, Some("ok")), "{gateway}");
        assert_eq!(ask(gateway, "HEAD", "/healthz").status(), 200, "{gateway}");
        let other = ask(gateway, "DELETE", "/api/events");
        assert_eq!((other.status(), other.header("allow")), (405, Some("POST")), "{gateway}");
        let stranger = ask(gateway, "POST", "/api/events");
        assert_eq!(
            (stranger.status(), stranger.header("access-control-allow-origin")),
            (401, Some(APP)),
            "{gateway}"
        );
        let preflight = ask(gateway, "OPTIONS", "/api/events");
        assert_eq!(
            (preflight.status(), preflight.header("access-control-allow-origin")),
            (200, Some(APP)),
            "{gateway}"
        );
    }
    assert_eq!(function.sends(), 0);
}

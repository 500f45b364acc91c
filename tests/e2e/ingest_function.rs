//! The ingest as a Lambda process in front of an SQS that can be told to fail: what it answers, logs,
//! counts and wakes; and the drain that is woken.

use std::net::TcpListener;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use axum::http::HeaderMap;
use eventlane_contracts::SystemClock;
use eventlane_testkit::emulators::aws_environment;
use eventlane_testkit::envelopes::{Event, batch};
use eventlane_testkit::process::{Process, binary};
use eventlane_testkit::runtime_api::RuntimeApi;
use eventlane_testkit::scripted_sqs::{Action, FOREVER, Fault, ScriptedSqs};
use eventlane_testkit::secure::{self, SecureServer};
use eventlane_testkit::tokens::{self, Signer};
use serde_json::{Value, json};

use crate::support::{PATIENCE, gateway};

const ISSUE: &str = r#"{"issueId":"b48b36ee-0d62-4382-8f6b-17f0b6b3bd77"}"#;
const SEND: Action = Action::SendMessageBatch;
const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

fn sqs() -> ScriptedSqs {
    let registry = eventlane_lane::registry().unwrap();
    let names = registry.streams().flat_map(|stream| {
        let name = stream.name();
        [format!("lane-{name}"), format!("empty-{name}")]
    });
    let names: Vec<String> = names.chain(["lane-drain-nudge".to_owned()]).collect();
    ScriptedSqs::start(Arc::new(SystemClock), names.iter().map(String::as_str))
}

struct Function {
    api: RuntimeApi,
    process: Process,
}

impl Function {
    fn start(name: &str, sqs: &ScriptedSqs, prefix: &str, more: &[(&str, &str)]) -> Self {
        let api = RuntimeApi::start();
        let mut command = Command::new(binary(name));
        command
            .env_clear()
            .envs(api.environment(name))
            .envs(aws_environment(&sqs.url()))
            .env("EVENTLANE_QUEUE_URL_PREFIX", sqs.queue_url(prefix))
            .envs(more.iter().copied());
        let process = Process::start(&mut command);
        Self { api, process }
    }

    fn ingest(sqs: &ScriptedSqs, more: &[(&str, &str)]) -> Self {
        let secret = [("EVENTLANE_HS256_SECRET", tokens::HS256_SECRET)];
        Self::start("ingest", sqs, "lane", &[&secret, more].concat())
    }

    /// The answer to a POST: its status and its body.
    fn post(&self, token: &str, body: &str, left: Duration) -> (u64, Value) {
        let event = post_event(token, body);
        let answer = self.api.invoke(&event, left).response(PATIENCE);
        let text = answer["body"].as_str().unwrap_or_default();
        (answer["statusCode"].as_u64().unwrap(), serde_json::from_str(text).unwrap_or_default())
    }

    /// Ends it; everything it wrote.
    fn written(mut self) -> (Vec<String>, String) {
        self.process.kill();
        let ended = self.process.wait(PATIENCE);
        (ended.stdout, ended.stderr)
    }
}

fn post_event(token: &str, body: &str) -> Value {
    let mut headers = HeaderMap::new();
    headers.insert("authorization", format!("Bearer {token}").parse().unwrap());
    headers.insert("traceparent", format!("00-{TRACE}-b7ad6b7169203331-01").parse().unwrap());
    gateway::event("/api/events", &headers, body.as_bytes())
}

fn token() -> String {
    tokens::hs256(&tokens::claims("tester"))
}

fn one() -> String {
    batch(&[Event::new(1, "issue_viewed", ISSUE)])
}

/// I39
#[test]
fn the_answer_is_with_lambda_before_the_functions_deadline() {
    let sqs = sqs();
    let ingest = Function::ingest(&sqs, &[]);
    assert_eq!(ingest.post(&token(), &one(), PATIENCE).0, 200, "it has started");
    let fired = sqs.fault("*", SEND, FOREVER, Fault::Hang);
    let left = Duration::from_secs(4);
    let invocation = ingest.api.invoke(&post_event(&token(), &one()), left);
    let answered = invocation.outcome(left);
    let Some(eventlane_testkit::runtime_api::Outcome::Response(answer)) = answered else {
        panic!("no answer before the deadline: {answered:?}")
    };
    assert_eq!((&answer["statusCode"], &answer["headers"]["retry-after"]), (&json!(503), &json!("5")));
    assert!(fired.fired() >= 1);
    sqs.heal();
    let (status, body) = ingest.post(&token(), &one(), PATIENCE);
    assert_eq!((status, &body["acks"][0]["status"]), (200, &json!("acked")), "the process lives on");
}

/// I31: the binary's own crypto backend, for each algorithm and for a call over HTTPS.
#[test]
fn a_token_of_each_algorithm_is_taken_with_keys_fetched_over_https() {
    let signers = [Signer::rs256(), Signer::es256(), Signer::eddsa()];
    let named: Vec<Signer> =
        signers.into_iter().zip(["r", "e", "d"]).map(|(key, kid)| key.named(kid)).collect();
    let keys = json!({"keys": named.iter().map(Signer::jwk).collect::<Vec<_>>()}).to_string();
    let length = keys.len();
    let issuer = SecureServer::start(format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{keys}"));
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root.pem");
    std::fs::write(&root, secure::ROOT).unwrap();
    let (sqs, url) = (sqs(), format!("{}/jwks.json", issuer.url()));
    let settings = [
        ("EVENTLANE_JWKS_URL", &*url),
        ("EVENTLANE_ISSUER", "https://id.example.com"),
        ("EVENTLANE_AUDIENCE", "events"),
        ("SSL_CERT_FILE", root.to_str().unwrap()),
    ];
    let ingest = Function::ingest(&sqs, &settings);
    let mut claims = tokens::claims("tester");
    (claims["iss"], claims["aud"]) = (json!("https://id.example.com"), json!("events"));
    for signer in named.iter().chain([&Signer::hs256()]) {
        let (status, body) = ingest.post(&signer.sign(&claims), &one(), PATIENCE);
        assert_eq!((status, &body["acks"][0]["status"]), (200, &json!("acked")));
    }
    assert_eq!(ingest.post(&Signer::other_rs256().named("r").sign(&claims), &one(), PATIENCE).0, 401);
    assert!(issuer.received().is_some());
    assert_eq!(sqs.messages("lane-issue_viewed").len(), 4);
}

#[test]
fn a_request_is_one_line_and_its_metrics_and_nothing_that_was_sent() {
    let sqs = sqs();
    let ingest = Function::ingest(&sqs, &[("EVENTLANE_LOG", "trace")]);
    sqs.fault("lane-review_graded", SEND, FOREVER, Fault::no_queue());
    let claims = json!({
        "sub": "s3cret-sub", "app_metadata": {"person_id": "s3cret-id"}, "exp": tokens::FAR_EXPIRY
    });
    let secret_token = tokens::hs256(&claims);
    let review = r#"{"cardId":"b48b36ee-0d62-4382-8f6b-17f0b6b3bd77","grade":3}"#;
    let events = [
        Event::new(1, "issue_viewed", ISSUE),
        Event::new(2, "issue_viewed", r#"{"issueId":"s3cret"}"#),
        Event::new(3, "s3cret_stream", r#""s3cret""#),
        Event::new(4, "review_graded", review),
    ];
    let (status, body) = ingest.post(&secret_token, &batch(&events), PATIENCE);
    assert_eq!(status, 200, "{body}");
    let requests = [(secret_token.clone(), "{\"s3cret".to_owned()), ("s3cret.x.y".to_owned(), one())];
    for (token, body) in &requests {
        assert!(ingest.post(token, body, PATIENCE).0 >= 400);
    }
    let (stdout, stderr) = ingest.written();
    let signature = secret_token.rsplit('.').next().unwrap();
    for line in stdout.iter().chain([&stderr]) {
        assert!(!line.contains("s3cret") && !line.contains(signature), "{line}");
    }
    let lines: Vec<Value> = stdout.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told: Vec<&Value> = lines
        .iter()
        .filter(|line| line["fields"]["message"] == "answered" && line["level"] == "INFO")
        .collect();
    let statuses: Vec<&Value> = told.iter().map(|line| &line["fields"]["status"]).collect();
    assert_eq!(statuses, [200, 400, 401]);
    assert_eq!(told[0]["span"]["trace"], TRACE);
    assert_eq!(told[0]["span"]["id"], "00000000-0000-4000-8000-000000000001", "Lambda's id");
    let fields = &told[0]["fields"];
    assert_eq!(
        (&fields["acked"], &fields["rejected"], &fields["deferred"]),
        (&json!(1), &json!(1), &json!(2))
    );

    let metrics: Vec<&Value> = lines.iter().filter(|line| line.get("_aws").is_some()).collect();
    let counted = |stream: &str, verdict: &str, reason: &str| {
        let meant = |line: &&&Value| {
            line["Stream"] == stream && line["Verdict"] == verdict && line["Reason"] == reason
        };
        metrics.iter().find(meant).map(|line| line["Events"].clone())
    };
    assert_eq!(counted("issue_viewed", "acked", "acked"), Some(json!(1.0)));
    assert_eq!(counted("issue_viewed", "rejected", "invalid"), Some(json!(1.0)));
    assert_eq!(counted("unknown", "deferred", "unknown_stream"), Some(json!(1.0)));
    assert_eq!(counted("review_graded", "deferred", "queue"), Some(json!(1.0)));
    let rejected: Vec<&Value> = metrics
        .iter()
        .filter(|line| line.get("RejectedTokens").is_some())
        .map(|line| &line["Reason"])
        .collect();
    assert_eq!(rejected, ["token_malformed"]);
    assert!(metrics.iter().any(|line| line["BatchEvents"] == 4.0 && line["EnqueueLatency"].is_f64()));
}

#[test]
fn dynamodb_is_asked_only_where_a_consent_table_is_configured() {
    let table = TcpListener::bind("127.0.0.1:0").unwrap();
    table.set_nonblocking(true).unwrap();
    let endpoint = format!("http://{}", table.local_addr().unwrap());
    let sqs = sqs();
    let dynamo = ("AWS_ENDPOINT_URL_DYNAMODB", endpoint.as_str());
    let without = Function::ingest(&sqs, &[dynamo]);
    assert_eq!(without.post(&token(), &one(), PATIENCE).0, 200);
    assert!(table.accept().is_err(), "nobody connected");
    let more = [dynamo, ("EVENTLANE_CONSENT_TABLE", "consent"), ("EVENTLANE_GATE_TIMEOUT_MS", "300")];
    let with = Function::ingest(&sqs, &more);
    let (status, body) = with.post(&token(), &one(), PATIENCE);
    assert_eq!(status, 500, "a table that never answers fails the gate for every event: {body}");
    assert!(table.accept().is_ok(), "it was asked");
    assert_eq!(sqs.messages("lane-issue_viewed").len(), 1);
}

#[test]
fn settings_that_make_no_sense_stop_the_start_and_are_named() {
    let sqs = sqs();
    for (name, value) in [
        ("EVENTLANE_NUDGE_QUEUE_URL", "lane-drain-nudge"),
        ("EVENTLANE_RATE_PER_MINUTE", "0"),
        ("EVENTLANE_CONSENT_DEFAULT", "maybe"),
        ("EVENTLANE_METRICS_NAMESPACE", "no space"),
    ] {
        let ended = Function::ingest(&sqs, &[(name, value)]).process.wait(PATIENCE);
        assert!(!ended.status.success(), "{name}");
    }
}

#[test]
fn an_enqueue_wakes_the_drain_which_takes_the_nudge_for_a_pass() {
    let sqs = sqs();
    let url = sqs.queue_url("lane-drain-nudge");
    let ingest = Function::ingest(&sqs, &[("EVENTLANE_NUDGE_QUEUE_URL", &url)]);
    let refused = batch(&[Event::new(1, "issue_viewed", "1")]);
    assert_eq!(ingest.post(&token(), &refused, PATIENCE).0, 200);
    assert!(sqs.messages("lane-drain-nudge").is_empty(), "nothing was enqueued");
    assert_eq!(ingest.post(&token(), &one(), PATIENCE).0, 200);
    let nudges = sqs.messages("lane-drain-nudge");
    assert_eq!((nudges.len(), nudges[0].body.as_str()), (1, r#"{"streams":["issue_viewed"]}"#));

    // As an event source hands it over, to a drain whose queues are empty.
    let drain = Function::start("drain", &sqs, "empty", &[("EVENTLANE_ARCHIVE_TABLE", "nobodys")]);
    let record = |body: &str| {
        json!({"messageId": "n1", "receiptHandle": "r", "body": body, "eventSource": "aws:sqs",
            "eventSourceARN": "arn:aws:sqs:us-east-1:000000000000:lane-drain-nudge"})
    };
    for body in [nudges[0].body.as_str(), "nonsense"] {
        let before = sqs.calls_of(Action::ReceiveMessage, "empty-issue_viewed").len();
        let event = json!({ "Records": [record(body)] });
        let answer = drain.api.invoke(&event, Duration::from_secs(30)).response(PATIENCE);
        assert_eq!(answer, json!({"batchItemFailures": []}), "a nudge never comes again");
        for stream in eventlane_lane::registry().unwrap().streams() {
            let queue = format!("empty-{}", stream.name());
            assert!(!sqs.calls_of(Action::ReceiveMessage, &queue).is_empty(), "{queue} was read");
        }
        assert!(sqs.calls_of(Action::ReceiveMessage, "empty-issue_viewed").len() > before);
    }
    let (stdout, _) = drain.written();
    let passes = stdout.iter().filter(|line| line.contains("a nudge's pass")).count();
    assert_eq!(passes, 2, "{stdout:?}");
}

#[test]
fn a_requests_trace_is_seen_at_the_drain_and_a_hostile_one_is_not() {
    let sqs = sqs();
    let ingest = Function::ingest(&sqs, &[]);
    assert_eq!(ingest.post(&token(), &one(), PATIENCE).0, 200);
    let message = sqs.messages("lane-issue_viewed").remove(0);
    let carried = message.attributes["traceparent"].string_value.clone().unwrap();
    assert_eq!(carried, format!("00-{TRACE}-b7ad6b7169203331-01"));

    // The archive is nowhere, so that the handler fails, and says so.
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let nowhere = format!("http://{closed}");
    let more = [("EVENTLANE_ARCHIVE_TABLE", "nobodys"), ("AWS_ENDPOINT_URL_DYNAMODB", nowhere.as_str())];
    let drain = Function::start("drain", &sqs, "lane", &more);
    let deliver = |traceparent: &str| {
        let attributes = json!({"v": {"stringValue": "1", "dataType": "Number"},
            "traceparent": {"stringValue": traceparent, "dataType": "String"}});
        let event = json!({"Records": [{"messageId": "m1", "receiptHandle": "r", "body": message.body,
            "attributes": {"ApproximateReceiveCount": "1"}, "messageAttributes": attributes,
            "eventSourceARN": "arn:aws:sqs:us-east-1:000000000000:lane-issue_viewed"}]});
        let answer = drain.api.invoke(&event, Duration::from_secs(60)).response(PATIENCE);
        assert_eq!(answer, json!({"batchItemFailures": [{"itemIdentifier": "m1"}]}));
    };
    deliver(&carried);
    deliver("00-s3cret\"}-b7ad6b7169203331-01");
    let (stdout, stderr) = drain.written();
    assert!(!stderr.contains("s3cret"));
    let failed: Vec<Value> = stdout
        .iter()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|line| line["fields"]["message"] == "a handler failed")
        .collect();
    let traces: Vec<&Value> = failed.iter().map(|line| &line["span"]["trace"]).collect();
    assert_eq!(traces, [&json!(TRACE), &Value::Null], "{stdout:?}");
    assert!(stdout.iter().all(|line| !line.contains("s3cret")));
}

//! What the template lets each function do is what it does: the functions run with the template's own
//! environment against an SQS and a DynamoDB that record every call.

use std::collections::BTreeSet;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use eventlane_contracts::SystemClock;
use eventlane_testkit::envelopes::{Event, batch};
use eventlane_testkit::process::{Process, binary};
use eventlane_testkit::runtime_api::RuntimeApi;
use eventlane_testkit::scripted_dynamo::{DynamoCall, ScriptedDynamo};
use eventlane_testkit::scripted_sqs::{Attribute, ScriptedSqs};
use eventlane_testkit::tokens;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::support::template::{Right, Template};
use crate::support::{PATIENCE, aws, earthquake, fixture, gateway};

/// The prefix of the template with every option.
const PREFIX: &str = "lane";

/// What a test that runs a whole pass may take of Lambda's time.
const LEFT: Duration = Duration::from_secs(60);

/// Two events of each stream's payload.
fn payloads() -> [(&'static str, String); 4] {
    let strikes = std::fs::read_to_string(fixture("streams/bird_strike.jsonl")).unwrap();
    [
        ("bird_strike", strikes.lines().next().unwrap().to_owned()),
        ("earthquake", earthquake(&[])),
        ("issue_viewed", r#"{"issueId":"b48b36ee-0d62-4382-8f6b-17f0b6b3bd77"}"#.to_owned()),
        ("review_graded", r#"{"cardId":"b48b36ee-0d62-4382-8f6b-17f0b6b3bd77","grade":3}"#.to_owned()),
    ]
}

/// An AWS that records, and the template whose functions are run on it.
struct Bench {
    template: Template,
    sqs: ScriptedSqs,
    dynamo: ScriptedDynamo,
}

/// A function on the bench. What it called before it started is someone else's.
struct Running<'a> {
    bench: &'a Bench,
    api: RuntimeApi,
    _process: Process,
    seen: (usize, usize),
}

impl Bench {
    fn start() -> Self {
        let template = Template::golden("everything");
        let queues = template.queues();
        let sqs = ScriptedSqs::start(Arc::new(SystemClock), queues.iter().map(String::as_str));
        Self { template, sqs, dynamo: ScriptedDynamo::start() }
    }

    /// Starts a function with the environment that the template gives it, but where AWS is.
    fn run(&self, name: &str, bin: &str, more: &[(&str, &str)]) -> Running<'_> {
        let api = RuntimeApi::start();
        let mut command = Command::new(binary(bin));
        command
            .env_clear()
            .envs(api.environment(name))
            .envs(self.template.environment(name))
            .envs([("AWS_REGION", "us-east-1"), ("AWS_ACCESS_KEY_ID", "k"), ("AWS_SECRET_ACCESS_KEY", "s")])
            .env("AWS_ENDPOINT_URL_DYNAMODB", self.dynamo.url())
            .env("EVENTLANE_QUEUE_URL_PREFIX", self.sqs.queue_url(PREFIX))
            .env("EVENTLANE_NUDGE_QUEUE_URL", self.sqs.queue_url("lane-drain-nudge"))
            .envs(more.iter().copied());
        let seen = (self.sqs.calls().len(), self.dynamo.calls().len());
        Running { bench: self, api, _process: Process::start(&mut command), seen }
    }
}

impl Running<'_> {
    fn invoke(&self, event: &Value) -> Value {
        self.api.invoke(event, LEFT).response(PATIENCE)
    }

    /// What it has called since it started, by the names that policies have for it.
    fn called(&self) -> BTreeSet<Right> {
        let queues = self.bench.sqs.calls().split_off(self.seen.0).into_iter().map(|call| {
            let action = format!("{:?}", call.action);
            // A batch call needs the right of the single one.
            (format!("sqs:{}", action.trim_end_matches("Batch")), call.queue)
        });
        let tables = self.bench.dynamo.calls().split_off(self.seen.1).into_iter();
        let tables = tables.map(|call| (format!("dynamodb:{}", call.action), call.table));
        queues.chain(tables).collect()
    }

    /// Nothing was called that the role refuses, and what it allows beyond the calls is explained.
    fn is_allowed_exactly(&self, function: &str, explained: &[(&str, &str, &str)]) {
        let (rights, called) = (self.bench.template.rights(function), self.called());
        let refused: Vec<_> = called.difference(&rights).collect();
        assert!(refused.is_empty(), "{function} calls what its role refuses: {refused:?}");
        let is_explained = |(action, name): &Right| {
            action.starts_with("logs:")
                || explained.iter().any(|(known, tail, _)| action == known && name.ends_with(tail))
        };
        let unused: Vec<_> = rights.difference(&called).filter(|right| !is_explained(right)).collect();
        assert!(unused.is_empty(), "{function} may do what it never does: {unused:?}");
    }
}

/// Lambda's own poller reads an event source's queue by the function's role.
const POLLER: &str = "Lambda reads, deletes and counts for the event source";

/// The shipped handler names no events; a user's may.
const PARTS: &str = "the events that a handler names go back as a message of their own";

#[test]
fn the_ingest_calls_what_its_role_allows_and_nothing_is_allowed_beside() {
    let bench = Bench::start();
    let secret = [("EVENTLANE_HS256_SECRET", tokens::HS256_SECRET), ("EVENTLANE_AUDIENCE", "events")];
    let ingest = bench.run("lane-ingest", "ingest", &secret);
    let claims = json!({"sub": "tester", "iss": "https://login.example.com/", "aud": "events", "client_id": "events",
        "token_use": "access",
        "app_metadata": {"person_id": 7}, "exp": tokens::FAR_EXPIRY});
    let events: Vec<Event> =
        (1..).zip(payloads()).map(|(n, (stream, payload))| Event::new(n, stream, payload)).collect();
    let mut headers = axum::http::HeaderMap::new();
    headers.insert("authorization", format!("Bearer {}", tokens::hs256(&claims)).parse().unwrap());
    let answer = ingest.invoke(&gateway::event("/api/events", &headers, batch(&events).as_bytes()));
    assert_eq!(answer["statusCode"], 200, "{answer}");
    assert_eq!(answer["body"].as_str().unwrap().matches("acked").count(), 4, "{answer}");
    ingest.is_allowed_exactly(
        "lane-ingest",
        &[
            ("sqs:SendMessage", "-drain-nudge", "one a second at most, and not awaited to its end"),
            ("dynamodb:GetItem", "-consent", "asked where the gate is the table's"),
        ],
    );
}

#[test]
fn the_drain_calls_what_its_role_allows_and_nothing_is_allowed_beside() {
    let bench = Bench::start();
    let streams = ["bird_strike", "earthquake"];
    for stream in streams {
        put(&bench, stream);
        trouble(&bench, stream);
    }
    script(&bench);
    // A lease short enough to be renewed while the archive is slow.
    let drain = bench.run("lane-drain", "drain", &[("EVENTLANE_VISIBILITY_SECONDS", "2")]);
    let report = drain.invoke(&json!({}));
    assert_eq!(report["dead_lettered"], 2, "{report}");
    drain.is_allowed_exactly(
        "lane-drain",
        &[
            ("sqs:ReceiveMessage", "-drain-nudge", POLLER),
            ("sqs:DeleteMessage", "-drain-nudge", POLLER),
            ("sqs:GetQueueAttributes", "-drain-nudge", POLLER),
            ("sqs:SendMessage", "lane-bird_strike", PARTS),
            ("sqs:SendMessage", "lane-earthquake", PARTS),
        ],
    );
}

#[test]
fn the_drain_of_event_sources_calls_what_its_role_allows_and_nothing_is_allowed_beside() {
    let bench = Bench::start();
    let streams = ["issue_viewed", "review_graded"];
    let runtime = Runtime::new().unwrap();
    let sqs = aws_sdk_sqs::Client::new(&aws::config(&bench.sqs.url()));
    let mut records = Vec::new();
    for stream in streams {
        put(&bench, stream);
        trouble(&bench, stream);
        records.extend(aws::records(&runtime, &sqs, &bench.sqs.queue_url(&format!("lane-{stream}")), 3));
    }
    script(&bench);
    let drain = bench.run("lane-drain-source", "drain", &[("EVENTLANE_VISIBILITY_SECONDS", "2")]);
    let answer = drain.invoke(&json!({ "Records": records }));
    assert!(!answer["batchItemFailures"].as_array().unwrap().is_empty(), "{answer}");
    let mut explained = Vec::new();
    for tail in ["lane-issue_viewed", "lane-review_graded"] {
        explained.extend([
            ("sqs:ReceiveMessage", tail, POLLER),
            ("sqs:GetQueueAttributes", tail, POLLER),
            ("sqs:SendMessage", tail, PARTS),
        ]);
    }
    drain.is_allowed_exactly("lane-drain-source", &explained);
}

/// A sound sub-batch on a stream's queue, as the ingest writes it.
fn put(bench: &Bench, stream: &str) {
    let (_, payload) = payloads().into_iter().find(|(name, _)| *name == stream).unwrap();
    let event = format!(
        r#"{{"eventId":"0199b6a0-0000-7000-8000-000000000001","occurredAtUs":"1","identity":{{"x":"y"}},"payload":{payload}}}"#
    );
    let body = format!(r#"{{"stream":"{stream}","events":[{event}]}}"#);
    bench.sqs.put(&format!("lane-{stream}"), &body, &[("v", Attribute::number(1))]);
}

/// What makes a delivery take its other roads: a body that is dead on sight, and one from a version
/// that comes later.
fn trouble(bench: &Bench, stream: &str) {
    let queue = format!("lane-{stream}");
    bench.sqs.put(&queue, "poison", &[("v", Attribute::number(1))]);
    let body = format!(r#"{{"stream":"{stream}","events":[]}}"#);
    bench.sqs.put(&queue, &body, &[("v", Attribute::number(2))]);
}

/// The archive refuses once, and then is slow until a mark was renewed.
fn script(bench: &Bench) {
    let put = DynamoCall::new("PutItem", "lane-archive");
    bench.dynamo.hold(put.clone(), DynamoCall::new("UpdateItem", "lane-ledger"));
    bench.dynamo.refuse(put);
}

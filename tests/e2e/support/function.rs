//! The ingest function's process, as Lambda runs it, in front of an SQS that is part of the test.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use eventlane_testkit::ManualClock;
use eventlane_testkit::process::{Process, binary};
use eventlane_testkit::runtime_api::{Outcome, RuntimeApi};
use eventlane_testkit::scripted_sqs::{Action, ScriptedSqs};
use eventlane_testkit::tokens;
use serde_json::Value;

use super::PATIENCE;

/// What an HTTP API waits for a function.
const TIMEOUT: Duration = Duration::from_secs(29);

pub(crate) struct Function {
    pub(crate) api: Arc<RuntimeApi>,
    pub(crate) sqs: ScriptedSqs,
    process: Process,
}

impl Function {
    /// Starts it with a queue for each stream of the lane, and these variables beside what it needs.
    pub(crate) fn start(more: &[(&str, &str)]) -> Self {
        let registry = eventlane_lane::registry().unwrap();
        let queues: Vec<String> =
            registry.streams().map(|stream| format!("lane-{}", stream.name())).collect();
        let sqs = ScriptedSqs::start(Arc::new(ManualClock::default()), queues.iter().map(String::as_str));
        let api = Arc::new(RuntimeApi::start());
        let mut command = Command::new(binary("ingest"));
        command
            .env_clear()
            .envs(api.environment("ingest"))
            .env("AWS_REGION", "us-east-1")
            .env("AWS_ACCESS_KEY_ID", "test")
            .env("AWS_SECRET_ACCESS_KEY", "test")
            .env("EVENTLANE_QUEUE_URL_PREFIX", sqs.queue_url("lane"))
            .env("EVENTLANE_HS256_SECRET", tokens::HS256_SECRET)
            .envs(more.iter().copied());
        Self { process: Process::start(&mut command), api, sqs }
    }

    /// What it says of an event.
    pub(crate) fn outcome(&self, event: &Value) -> Outcome {
        self.api.invoke(event, TIMEOUT).outcome(PATIENCE).unwrap()
    }

    /// Its answer to a request.
    pub(crate) fn answer(&self, event: &Value) -> Reply {
        match self.outcome(event) {
            Outcome::Response(answer) => Reply(answer),
            Outcome::Error { kind, body } => panic!("the function failed: {kind}: {body}"),
        }
    }

    /// How many times it asked the queues to take something.
    pub(crate) fn sends(&self) -> usize {
        self.sqs.calls().iter().filter(|call| call.action == Action::SendMessageBatch).count()
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.process.is_running()
    }
}

/// An answer as a gateway gets it.
pub(crate) struct Reply(Value);

impl Reply {
    pub(crate) fn status(&self) -> u64 {
        self.0["statusCode"].as_u64().unwrap()
    }

    /// A header, wherever this gateway looks for it.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.0["headers"][name].as_str().or_else(|| self.0["multiValueHeaders"][name][0].as_str())
    }

    pub(crate) fn body(&self) -> Value {
        assert_eq!(self.0["isBase64Encoded"], false, "an answer is text");
        serde_json::from_str(self.0["body"].as_str().unwrap_or("null")).unwrap()
    }

    /// The status of each verdict.
    pub(crate) fn verdicts(&self) -> Vec<String> {
        let body = self.body();
        let acks = body["acks"].as_array().unwrap_or_else(|| panic!("no verdicts: {body}"));
        acks.iter().map(|ack| ack["status"].as_str().unwrap().to_owned()).collect()
    }
}

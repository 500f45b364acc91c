//! The AWS-shaped lane: ingest and drain as Lambda processes, SQS by LocalStack, DynamoDB by
//! ministack, all of one test's names its own.

use std::collections::HashMap;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_dynamodb::types::{
    AttributeDefinition, AttributeValue, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType,
};
use aws_sdk_sqs::types::QueueAttributeName;
use eventlane_testkit::emulators::{localstack_url, ministack_url};
use eventlane_testkit::process::{Process, binary};
use eventlane_testkit::runtime_api::RuntimeApi;
use eventlane_testkit::tokens;
use tokio::runtime::Runtime;

use super::gateway::{self, Gateway};
use super::{Archived, Lane, PATIENCE};

pub(crate) struct Aws {
    runtime: Runtime,
    sqs: aws_sdk_sqs::Client,
    dynamo: aws_sdk_dynamodb::Client,
    prefix: String,
    gateway: Gateway,
    drain_api: RuntimeApi,
    _processes: [Process; 2],
}

impl Aws {
    /// A lane whose every stream has its queues, but those `without`.
    pub(crate) fn start(name: &str, without: &[&str]) -> Self {
        // A run of its own beside what an emulator kept of earlier ones.
        let name = &format!("{name}-{}", std::process::id());
        let runtime = Runtime::new().unwrap();
        let sqs = aws_sdk_sqs::Client::new(&config(&localstack_url()));
        let dynamo = aws_sdk_dynamodb::Client::new(&config(&ministack_url()));
        let prefix = runtime.block_on(provision(&sqs, &dynamo, name, without));
        Self::run(runtime, sqs, dynamo, name, prefix)
    }

    /// A lane whose SQS nobody answers for: a port that was just closed.
    pub(crate) fn without_sqs(name: &str) -> Self {
        let runtime = Runtime::new().unwrap();
        let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let sqs = aws_sdk_sqs::Client::new(&config(&format!("http://{closed}")));
        let dynamo = aws_sdk_dynamodb::Client::new(&config(&ministack_url()));
        let prefix = format!("http://{closed}/queue/us-east-1/000000000000/{name}");
        Self::run(runtime, sqs, dynamo, name, prefix)
    }

    fn run(
        runtime: Runtime,
        sqs: aws_sdk_sqs::Client,
        dynamo: aws_sdk_dynamodb::Client,
        name: &str,
        prefix: String,
    ) -> Self {
        let (ingest_api, drain_api) = (Arc::new(RuntimeApi::start()), RuntimeApi::start());
        let ingest =
            function("ingest", &ingest_api, &prefix, &[("EVENTLANE_HS256_SECRET", tokens::HS256_SECRET)]);
        // One failure is enough for a dead letter, and a released message is due at once.
        let table = [("EVENTLANE_ARCHIVE_TABLE", name), ("EVENTLANE_MAX_ATTEMPTS", "1")];
        let drain = function("drain", &drain_api, &prefix, &table);
        let gateway = gateway::start(ingest_api);
        Self { runtime, sqs, dynamo, prefix, gateway, drain_api, _processes: [ingest, drain] }
    }

    /// Every message of a stream's queue, taken out of it.
    pub(crate) fn take_messages(&self, stream: &str) -> Vec<String> {
        let url = format!("{}-{stream}", self.prefix);
        let mut bodies = Vec::new();
        loop {
            let receive =
                self.sqs.receive_message().queue_url(&url).max_number_of_messages(10).wait_time_seconds(1);
            let messages = self.runtime.block_on(receive.send()).unwrap().messages.unwrap_or_default();
            if messages.is_empty() {
                return bodies;
            }
            bodies.extend(messages.into_iter().map(|message| message.body.unwrap()));
        }
    }

    /// Messages of a stream's queue as Lambda's event source hands them over: leased, 30 s.
    pub(crate) fn records(&self, stream: &str, count: usize) -> Vec<serde_json::Value> {
        records(&self.runtime, &self.sqs, &format!("{}-{stream}", self.prefix), count)
    }

    /// The drain's answer to an event of its own.
    pub(crate) fn invoke_drain(&self, event: &serde_json::Value, left: Duration) -> serde_json::Value {
        self.drain_api.invoke(event, left).response(PATIENCE)
    }

    /// Puts a body on a stream's queue by hand.
    pub(crate) fn put(&self, stream: &str, body: &str) {
        let send = self.sqs.send_message().queue_url(format!("{}-{stream}", self.prefix)).message_body(body);
        self.runtime.block_on(send.send()).unwrap();
    }

    /// Drains until every stream reads empty; sub-batches dead-lettered on the way.
    pub(crate) fn drain(&self) -> u64 {
        let mut dead_lettered = 0;
        loop {
            let report = self.invoke_drain(&serde_json::json!({}), Duration::from_secs(30));
            dead_lettered += report["dead_lettered"].as_u64().unwrap();
            if report["empty"] == true {
                return dead_lettered;
            }
        }
    }

    /// `eventlane` with these arguments, about this lane.
    pub(crate) fn ask(&self, arguments: &[&str]) -> std::process::Output {
        let mut command = super::eventlane(arguments);
        match arguments[0] {
            "archive" => command.args(["--table", self.prefix.rsplit('/').next().unwrap()]),
            _ => command.args(["--queue-url-prefix", &self.prefix]),
        };
        command.arg("--json").envs(environment()).output().unwrap()
    }

    pub(crate) fn scan(&self) -> Vec<Archived> {
        scan(&self.runtime, &self.dynamo, self.prefix.rsplit('/').next().unwrap())
    }
}

impl Lane for Aws {
    fn url(&self) -> String {
        format!("{}/api/events", self.gateway.server.url())
    }

    fn secret(&self) -> String {
        tokens::HS256_SECRET.to_owned()
    }

    fn archived(&self) -> Vec<Archived> {
        assert_eq!(self.drain(), 0, "nothing is a dead letter");
        self.scan()
    }
}

/// Messages of a queue as Lambda's event source hands them over: leased, 30 s.
pub(crate) fn records(
    runtime: &Runtime,
    sqs: &aws_sdk_sqs::Client,
    url: &str,
    count: usize,
) -> Vec<serde_json::Value> {
    let name = url.rsplit('/').next().unwrap().to_owned();
    let mut records = Vec::new();
    while records.len() < count {
        let receive = sqs.receive_message().queue_url(url).max_number_of_messages(10);
        let receive = receive.visibility_timeout(30).wait_time_seconds(1);
        let receive = receive.message_attribute_names("All");
        let got = runtime.block_on(receive.send()).unwrap().messages.unwrap_or_default();
        assert!(!got.is_empty(), "{} of {count} messages came", records.len());
        records.extend(got.into_iter().map(|message| {
            let attributes = message.message_attributes.unwrap_or_default().into_iter();
            let attributes: serde_json::Map<_, _> = attributes
                .map(|(name, one)| {
                    (name, serde_json::json!({"stringValue": one.string_value, "dataType": one.data_type}))
                })
                .collect();
            serde_json::json!({
                "messageId": message.message_id, "receiptHandle": message.receipt_handle,
                "body": message.body, "attributes": {"ApproximateReceiveCount": "1"},
                "messageAttributes": attributes, "eventSource": "aws:sqs",
                "eventSourceARN": format!("arn:aws:sqs:us-east-1:000000000000:{name}"),
            })
        }));
    }
    records
}

/// Every event of an archive's table.
pub(crate) fn scan(runtime: &Runtime, dynamo: &aws_sdk_dynamodb::Client, table: &str) -> Vec<Archived> {
    let mut events = Vec::new();
    let mut start: Option<HashMap<String, AttributeValue>> = None;
    loop {
        let scan = dynamo.scan().table_name(table).set_exclusive_start_key(start.take());
        let page = runtime.block_on(scan.send()).unwrap();
        events.extend(page.items().iter().map(|item| {
            let text = |name: &str| item[name].as_s().unwrap().clone();
            Archived { stream: text("stream"), event_id: text("event_id"), payload: text("payload") }
        }));
        start = page.last_evaluated_key;
        if start.is_none() {
            return events;
        }
    }
}

pub(crate) fn config(endpoint: &str) -> SdkConfig {
    let credentials = aws_sdk_sqs::config::Credentials::new("test", "test", None, None, "test");
    SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("us-east-1"))
        .endpoint_url(endpoint)
        .credentials_provider(aws_sdk_sqs::config::SharedCredentialsProvider::new(credentials))
        .build()
}

/// Queues, dead-letter queues and the archive table; the queues' URL prefix.
async fn provision(
    sqs: &aws_sdk_sqs::Client,
    dynamo: &aws_sdk_dynamodb::Client,
    name: &str,
    without: &[&str],
) -> String {
    let registry = eventlane_lane::registry().unwrap();
    for stream in registry.streams().map(|stream| stream.name().as_str()) {
        if without.contains(&stream) {
            continue;
        }
        for queue in [format!("{name}-{stream}"), format!("{name}-{stream}-dlq")] {
            let create = sqs.create_queue().queue_name(queue);
            create.attributes(QueueAttributeName::MaximumMessageSize, "1048576").send().await.unwrap();
        }
    }
    let attribute = |name: &str| {
        AttributeDefinition::builder()
            .attribute_name(name)
            .attribute_type(ScalarAttributeType::S)
            .build()
            .unwrap()
    };
    let key =
        |name: &str, kind| KeySchemaElement::builder().attribute_name(name).key_type(kind).build().unwrap();
    let table = dynamo.create_table().table_name(name).billing_mode(BillingMode::PayPerRequest);
    let table = table.attribute_definitions(attribute("pk")).attribute_definitions(attribute("sk"));
    let table = table.key_schema(key("pk", KeyType::Hash)).key_schema(key("sk", KeyType::Range));
    table.send().await.unwrap();
    format!("{}/queue/us-east-1/000000000000/{name}", localstack_url())
}

/// What a process of this lane needs to know of AWS. The queues' host is in their URLs; only the
/// archive's has to be said.
fn environment() -> [(&'static str, String); 4] {
    [
        ("AWS_REGION", "us-east-1".to_owned()),
        ("AWS_ACCESS_KEY_ID", "test".to_owned()),
        ("AWS_SECRET_ACCESS_KEY", "test".to_owned()),
        ("AWS_ENDPOINT_URL_DYNAMODB", ministack_url()),
    ]
}

/// A function's process, as Lambda starts it.
fn function(name: &str, api: &RuntimeApi, prefix: &str, more: &[(&str, &str)]) -> Process {
    let mut command = Command::new(binary(name));
    command
        .env_clear()
        .envs(api.environment(name))
        .envs(environment())
        .env("EVENTLANE_QUEUE_URL_PREFIX", prefix)
        .envs(more.iter().copied());
    Process::start(&mut command)
}

//! The test rigs judged: one script of calls on the boundary of what SQS takes, run on the scripted SQS
//! and on both emulators. The scripted one does what AWS documents; where an emulator differs stands
//! here, so that a promise is never believed for its green run alone.

use std::sync::Arc;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::{
    DeleteMessageBatchRequestEntry, MessageAttributeValue, QueueAttributeName, SendMessageBatchRequestEntry,
};
use eventlane_contracts::SystemClock;
use eventlane_testkit::emulators::{localstack_url, ministack_url};
use eventlane_testkit::scripted_sqs::ScriptedSqs;
use tokio::runtime::Runtime;

use crate::support::aws::config;

/// SQS quotas, "Message size".
const MESSAGE: usize = 1_048_576;

/// What AWS documents: each probe, and whether it is taken.
const AWS: [(&str, bool); 12] = [
    ("an emoji", true),
    ("300 KiB", true),
    ("the last byte of a message", true),
    ("a byte more than a message", false),
    ("a body and an attribute over a message together", false),
    ("two entries over a call together", false),
    ("U+FFFF", false),
    ("an empty body", false),
    ("eleven attributes", false),
    ("a receipt that never was", false),
    ("a lease over 12 hours", false),
    ("a queue that isn't there", false),
];

#[test]
fn the_scripted_sqs_takes_and_refuses_what_aws_does() {
    let sqs = ScriptedSqs::start(Arc::new(SystemClock), ["rig"]);
    assert_eq!(deviations(&Client::new(&config(&sqs.url())), &sqs.queue_url("rig")), [""; 0]);
}

#[test]
fn localstack_differs_from_aws_where_it_is_known_to() {
    let (client, url) = provisioned(&localstack_url());
    assert_eq!(deviations(&client, &url), ["eleven attributes", "a lease over 12 hours"]);
}

#[test]
fn ministack_differs_from_aws_where_it_is_known_to() {
    let (client, url) = provisioned(&ministack_url());
    let known =
        ["a body and an attribute over a message together", "eleven attributes", "a lease over 12 hours"];
    assert_eq!(deviations(&client, &url), known);
}

fn provisioned(endpoint: &str) -> (Client, String) {
    let client = Client::new(&config(endpoint));
    let create = client.create_queue().queue_name(format!("rig-{}", std::process::id()));
    let create = create.attributes(QueueAttributeName::MaximumMessageSize, MESSAGE.to_string());
    let url = Runtime::new().unwrap().block_on(create.send()).unwrap().queue_url.unwrap();
    (client, url)
}

/// The probes that end otherwise than on AWS.
fn deviations(client: &Client, url: &str) -> Vec<&'static str> {
    let runtime = Runtime::new().unwrap();
    let differs = |(probe, taken): &(&'static str, bool)| {
        (runtime.block_on(is_taken(client, url, probe)) != *taken).then_some(*probe)
    };
    AWS.iter().filter_map(differs).collect()
}

async fn is_taken(client: &Client, url: &str, probe: &str) -> bool {
    match probe {
        "an emoji" => send(client, url, "🐦", 0).await,
        "300 KiB" => send(client, url, &"x".repeat(300 * 1024), 0).await,
        "the last byte of a message" => send(client, url, &"x".repeat(MESSAGE), 0).await,
        "a byte more than a message" => send(client, url, &"x".repeat(MESSAGE + 1), 0).await,
        "a body and an attribute over a message together" => {
            send(client, url, &"x".repeat(MESSAGE - 10), 1).await
        }
        "two entries over a call together" => {
            let body = "x".repeat(MESSAGE * 6 / 10);
            send_batch(client, url, &[body.clone(), body]).await
        }
        "U+FFFF" => send_batch(client, url, &["\u{ffff}".to_owned()]).await,
        "an empty body" => send(client, url, "", 0).await,
        "eleven attributes" => send(client, url, "x", 11).await,
        "a receipt that never was" => delete_batch(client, url).await,
        "a lease over 12 hours" => lease(client, url).await,
        "a queue that isn't there" => send(client, &format!("{url}-elsewhere"), "x", 0).await,
        _ => panic!("no such probe: {probe}"),
    }
}

async fn send(client: &Client, url: &str, body: &str, attributes: usize) -> bool {
    let value =
        || MessageAttributeValue::builder().data_type("String").string_value("twenty bytes of value").build();
    let mut send = client.send_message().queue_url(url).message_body(body);
    for n in 0..attributes {
        send = send.message_attributes(format!("a{n}"), value().unwrap());
    }
    send.send().await.is_ok()
}

/// Whether each entry was taken.
async fn send_batch(client: &Client, url: &str, bodies: &[String]) -> bool {
    let mut send = client.send_message_batch().queue_url(url);
    for (n, body) in bodies.iter().enumerate() {
        let entry = SendMessageBatchRequestEntry::builder().id(n.to_string()).message_body(body);
        send = send.entries(entry.build().unwrap());
    }
    send.send().await.is_ok_and(|answer| answer.failed.is_empty())
}

async fn delete_batch(client: &Client, url: &str) -> bool {
    let entry = DeleteMessageBatchRequestEntry::builder().id("0").receipt_handle("never").build().unwrap();
    let answer = client.delete_message_batch().queue_url(url).entries(entry).send().await;
    answer.is_ok_and(|answer| answer.failed.is_empty())
}

async fn lease(client: &Client, url: &str) -> bool {
    assert!(send(client, url, "lease", 0).await);
    let receive = client.receive_message().queue_url(url).wait_time_seconds(5);
    let message = receive.send().await.unwrap().messages.unwrap_or_default().remove(0);
    let change = client.change_message_visibility().queue_url(url).visibility_timeout(43_201);
    change.receipt_handle(message.receipt_handle.unwrap()).send().await.is_ok()
}

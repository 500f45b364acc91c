//! The real SDK against the scripted SQS.

use std::sync::Arc;
use std::time::Duration;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::retry::RetryConfig;
use aws_sdk_sqs::config::timeout::TimeoutConfig;
use aws_sdk_sqs::config::{BehaviorVersion, Config, Credentials, Region};
use aws_sdk_sqs::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_sqs::types::{
    DeleteMessageBatchRequestEntry, Message, MessageAttributeValue, MessageSystemAttributeName,
    QueueAttributeName, SendMessageBatchRequestEntry,
};

use super::*;
use crate::ManualClock;

const SOON: Duration = Duration::from_secs(30);

struct Rig {
    sqs: ScriptedSqs,
    clock: ManualClock,
    client: Client,
    url: String,
}

fn rig() -> Rig {
    let clock = ManualClock::default();
    let sqs = ScriptedSqs::start(Arc::new(clock.clone()), ["lane-a", "lane-b"]);
    let config = Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .endpoint_url(sqs.url())
        .region(Region::new("us-east-1"))
        .credentials_provider(Credentials::new("test", "test", None, None, "test"))
        .retry_config(RetryConfig::disabled())
        .timeout_config(TimeoutConfig::builder().operation_timeout(SOON).build())
        .build();
    let url = sqs.queue_url("lane-a");
    Rig { client: Client::from_conf(config), clock, url, sqs }
}

fn entry(id: &str, body: &str) -> SendMessageBatchRequestEntry {
    SendMessageBatchRequestEntry::builder().id(id).message_body(body).build().unwrap()
}

fn text(value: &str) -> MessageAttributeValue {
    MessageAttributeValue::builder().data_type("String").string_value(value).build().unwrap()
}

impl Rig {
    async fn send(&self, body: &str) {
        self.client.send_message().queue_url(&self.url).message_body(body).send().await.unwrap();
    }

    async fn receive(&self, visibility_seconds: i32) -> Vec<Message> {
        let receive = self.client.receive_message().queue_url(&self.url).max_number_of_messages(10);
        let receive = receive.visibility_timeout(visibility_seconds).message_attribute_names("All");
        let receive = receive.message_system_attribute_names(MessageSystemAttributeName::All);
        receive.send().await.unwrap().messages.unwrap_or_default()
    }

    /// The ids a batch lists as successful, the ids and codes it lists as failed; or the call's code.
    async fn batch(
        &self,
        entries: impl IntoIterator<Item = SendMessageBatchRequestEntry>,
    ) -> Result<(Vec<String>, Vec<(String, String, bool)>), String> {
        let send = self.client.send_message_batch().queue_url(&self.url);
        let entries: Vec<_> = entries.into_iter().collect();
        match send.set_entries(Some(entries)).send().await {
            Ok(output) => {
                let failed = output.failed.into_iter();
                Ok((
                    output.successful.into_iter().map(|entry| entry.id).collect(),
                    failed.map(|entry| (entry.id, entry.code, entry.sender_fault)).collect(),
                ))
            }
            Err(error) => Err(code(&error)),
        }
    }
}

fn code<E: ProvideErrorMetadata>(error: &SdkError<E>) -> String {
    error.code().unwrap_or_default().to_owned()
}

fn receipt(messages: &[Message]) -> String {
    messages[0].receipt_handle.clone().unwrap()
}

#[tokio::test]
async fn a_message_comes_back_with_what_was_sent_and_how_often_it_came() {
    let rig = rig();
    let send = rig.client.send_message().queue_url(&rig.url).message_body("{\"a\":\"é\"}");
    send.message_attributes("v", text("1")).send().await.unwrap();
    let messages = rig.receive(60).await;
    assert_eq!(messages[0].body(), Some("{\"a\":\"é\"}"));
    assert_eq!(messages[0].message_attributes().unwrap()["v"].string_value(), Some("1"));
    let system = messages[0].attributes().unwrap();
    assert_eq!(system[&MessageSystemAttributeName::ApproximateReceiveCount], "1");
    assert_eq!(system[&MessageSystemAttributeName::SentTimestamp], "1760000000000");
    assert!(rig.sqs.messages("lane-a")[0].in_flight);
    assert!(rig.sqs.messages("lane-b").is_empty());
}

#[tokio::test]
async fn visibility_follows_the_clock_and_each_receive_has_its_own_receipt() {
    let rig = rig();
    rig.send("a").await;
    let first = receipt(&rig.receive(60).await);
    rig.clock.advance(Duration::from_secs(59));
    assert!(rig.receive(60).await.is_empty());
    rig.clock.advance(Duration::from_secs(1));
    let second = receipt(&rig.receive(60).await);
    assert_ne!(first, second);

    let delete =
        |receipt: &str| rig.client.delete_message().queue_url(&rig.url).receipt_handle(receipt).send();
    let stale = delete(&first).await.unwrap_err();
    assert!(stale.as_service_error().unwrap().is_receipt_handle_is_invalid());
    assert!(delete("nonsense").await.unwrap_err().as_service_error().unwrap().is_receipt_handle_is_invalid());
    delete(&second).await.unwrap();
    delete(&second).await.unwrap();
    assert!(rig.sqs.messages("lane-a").is_empty());
}

#[tokio::test]
async fn visibility_can_be_given_back_and_has_a_cap_from_the_receive_on() {
    let rig = rig();
    rig.send("a").await;
    let receipt = receipt(&rig.receive(60).await);
    let change = async |seconds| {
        let change = rig.client.change_message_visibility().queue_url(&rig.url).receipt_handle(&receipt);
        change.visibility_timeout(seconds).send().await.map_err(|error| code(&error))
    };
    rig.clock.advance(Duration::from_secs(30));
    assert_eq!(change(43_171).await.unwrap_err(), "InvalidParameterValue");
    assert_eq!(change(43_201).await.unwrap_err(), "InvalidParameterValue");
    change(43_170).await.unwrap();
    change(0).await.unwrap();
    assert_eq!(change(60).await.unwrap_err(), "AWS.SimpleQueueService.MessageNotInflight");
    assert_eq!(rig.receive(60).await.len(), 1);
}

#[tokio::test]
async fn a_missing_queue_is_a_typed_error() {
    let rig = rig();
    let send = rig.client.send_message().queue_url(rig.sqs.queue_url("lane-c")).message_body("a").send();
    assert!(send.await.unwrap_err().as_service_error().unwrap().is_queue_does_not_exist());
    let found = rig.client.get_queue_url().queue_name("lane-b").send().await.unwrap();
    assert_eq!(found.queue_url(), Some(rig.sqs.queue_url("lane-b").as_str()));
}

#[tokio::test]
async fn what_aws_refuses_of_a_call_is_refused_whole() {
    let rig = rig();
    let prefixed = |code: &str| Err(format!("AWS.SimpleQueueService.{code}"));
    assert_eq!(rig.batch([]).await, prefixed("EmptyBatchRequest"));
    let many = (0..11).map(|n| entry(&n.to_string(), "a"));
    assert_eq!(rig.batch(many).await, prefixed("TooManyEntriesInBatchRequest"));
    assert_eq!(rig.batch([entry("1", "a"), entry("1", "b")]).await, prefixed("BatchEntryIdsNotDistinct"));
    assert_eq!(rig.batch([entry("a b", "a")]).await, prefixed("InvalidBatchEntryId"));
    let half = "x".repeat(600 * 1024);
    assert_eq!(rig.batch([entry("1", &half), entry("2", &half)]).await, prefixed("BatchRequestTooLong"));
    assert!(rig.sqs.messages("lane-a").is_empty());
}

#[tokio::test]
async fn a_message_may_have_just_its_size_with_its_attributes() {
    let rig = rig();
    let send = async |bytes: usize| {
        let send = rig.client.send_message().queue_url(&rig.url).message_body("x".repeat(bytes));
        send.message_attributes("v", text("1")).send().await.map_err(|error| code(&error))
    };
    // One byte of name, six of type, one of value.
    send(1_048_576 - 8).await.unwrap();
    assert_eq!(send(1_048_576 - 7).await.unwrap_err(), "InvalidParameterValue");
}

#[tokio::test]
async fn characters_sqs_refuses_fail_their_entry_alone() {
    let rig = rig();
    let bodies = ["ok\t\r\n\u{10FFFF}", "\u{FFFE}", "\u{FFFF}", "\u{1}", ""];
    let (done, failed) = rig
        .batch(bodies.iter().zip(["0", "1", "2", "3", "4"]).map(|(body, id)| entry(id, body)))
        .await
        .unwrap();
    assert_eq!(done, ["0"]);
    let invalid = |id: &str| (id.to_owned(), "InvalidMessageContents".to_owned(), true);
    assert_eq!(failed[..3], [invalid("1"), invalid("2"), invalid("3")]);
    assert_eq!(failed[3].1, "MissingParameter");
}

#[tokio::test]
async fn a_scripted_entry_fails_or_goes_unmentioned_and_has_no_effect() {
    let rig = rig();
    let batch = || [entry("1", "one"), entry("2", "two"), entry("3", "three")];
    let failed = rig.sqs.fault("lane-a", Action::SendMessageBatch, 1, Fault::fail(Which::At(1)));
    let omitted = Fault::OmitEntries(Which::BodyWith("thr".to_owned()));
    let omitted = rig.sqs.fault("lane-a", Action::SendMessageBatch, 1, omitted);
    let internal = ("2".to_owned(), "InternalError".to_owned(), false);
    assert_eq!(rig.batch(batch()).await.unwrap(), (vec!["1".to_owned(), "3".to_owned()], vec![internal]));
    assert_eq!((failed.fired(), omitted.fired()), (1, 0));
    assert_eq!(rig.batch(batch()).await.unwrap(), (vec!["1".to_owned(), "2".to_owned()], vec![]));
    assert_eq!(rig.batch(batch()).await.unwrap().0.len(), 3, "a fault fires as often as it was told");
    assert_eq!((failed.fired(), omitted.fired()), (1, 1));
    let bodies: Vec<String> = rig.sqs.messages("lane-a").into_iter().map(|message| message.body).collect();
    assert_eq!(bodies, ["one", "three", "one", "two", "one", "two", "three"]);
}

#[tokio::test]
async fn a_failed_delete_entry_leaves_its_message() {
    let rig = rig();
    rig.send("a").await;
    let receipt = receipt(&rig.receive(60).await);
    rig.sqs.fault(
        "lane-a",
        Action::DeleteMessageBatch,
        1,
        Fault::refuse(Which::All, "ReceiptHandleIsInvalid"),
    );
    let delete = async || {
        let entry =
            DeleteMessageBatchRequestEntry::builder().id("1").receipt_handle(&receipt).build().unwrap();
        rig.client.delete_message_batch().queue_url(&rig.url).entries(entry).send().await.unwrap()
    };
    assert_eq!(delete().await.failed[0].code, "ReceiptHandleIsInvalid");
    assert_eq!(rig.sqs.messages("lane-a").len(), 1);
    assert_eq!(delete().await.successful.len(), 1);
    assert!(rig.sqs.messages("lane-a").is_empty());
}

#[tokio::test]
async fn calls_fail_as_scripted_whatever_the_queue() {
    let rig = rig();
    let send = async || {
        let sent = rig.client.send_message().queue_url(&rig.url).message_body("a").send().await;
        sent.map(drop).map_err(|error| (error.raw_response().map(|raw| raw.status().as_u16()), code(&error)))
    };
    for (fault, status, code) in [
        (Fault::Status(500), Some(500), ""),
        (Fault::Status(503), Some(503), ""),
        (Fault::throttled(), Some(400), "RequestThrottled"),
        (Fault::access_denied(), Some(403), "AccessDenied"),
        (Fault::key_disabled(), Some(400), "KMS.DisabledException"),
        (Fault::no_queue(), Some(400), "AWS.SimpleQueueService.NonExistentQueue"),
        (Fault::Reset, None, ""),
    ] {
        let fired = rig.sqs.fault(ANY_QUEUE, Action::SendMessage, 1, fault.clone());
        assert_eq!(send().await.unwrap_err(), (status, code.to_owned()), "{fault:?}");
        assert_eq!(fired.fired(), 1);
    }
    assert!(rig.sqs.messages("lane-a").is_empty());
    rig.sqs.fault("lane-a", Action::SendMessage, 1, Fault::LoseAnswer);
    assert_eq!(send().await.unwrap_err().0, None);
    assert_eq!(rig.sqs.messages("lane-a").len(), 1, "the message is there, and its sender doesn't know");
    rig.sqs.fault(ANY_QUEUE, Action::SendMessage, FOREVER, Fault::Status(503));
    rig.sqs.heal();
    send().await.unwrap();
}

#[tokio::test]
async fn connections_that_died_are_reset_once_and_new_ones_are_fine() {
    let rig = rig();
    let send = async || rig.client.send_message().queue_url(&rig.url).message_body("a").send().await.is_ok();
    assert!(send().await);
    let died = rig.sqs.kill_connections();
    assert_eq!((send().await, died.fired()), (false, 1), "the one that was kept");
    assert_eq!((send().await, died.fired()), (true, 1));
    assert_eq!(rig.sqs.messages("lane-a").len(), 2);
}

#[tokio::test]
async fn a_hanging_call_is_recorded_and_never_answered() {
    let rig = rig();
    let fired = rig.sqs.fault("lane-a", Action::SendMessage, 1, Fault::Hang);
    let (client, url) = (rig.client.clone(), rig.url.clone());
    let call =
        tokio::spawn(async move { client.send_message().queue_url(url).message_body("a").send().await });
    let (sqs, wanted) = (rig.sqs, |calls: &[Call]| calls.len() == 1);
    let (sqs, seen) = tokio::task::spawn_blocking(move || {
        let seen = sqs.wait_for_calls(SOON, wanted);
        (sqs, seen)
    })
    .await
    .unwrap();
    assert!(seen && !call.is_finished());
    assert_eq!((fired.fired(), sqs.calls()[0].entries[0].body.as_str()), (1, "a"));
    drop(sqs);
    assert!(call.await.unwrap().is_err(), "the end of the server ends the call");
}

#[tokio::test]
async fn a_held_poll_ends_with_a_message() {
    let rig = rig();
    rig.sqs.set_long_polls(LongPolls::Held);
    let poll = rig.client.receive_message().queue_url(&rig.url).wait_time_seconds(20).send();
    let (polled, ()) = tokio::join!(poll, rig.send("a"));
    assert_eq!(polled.unwrap().messages()[0].body(), Some("a"));
    assert_eq!(rig.sqs.calls_of(Action::ReceiveMessage, "lane-a")[0].number("WaitTimeSeconds"), Some(20));
}

#[tokio::test]
async fn too_many_in_flight_are_refused_and_counted() {
    let rig = rig();
    rig.sqs.set_in_flight_limit("lane-a", 1);
    for body in ["a", "b"] {
        rig.sqs.put("lane-a", body, &[("v", Attribute::number(1))]);
    }
    assert_eq!(rig.receive(60).await.len(), 1);
    let over = rig.client.receive_message().queue_url(&rig.url).send().await.unwrap_err();
    assert!(over.as_service_error().unwrap().is_over_limit());
    let attributes =
        rig.client.get_queue_attributes().queue_url(&rig.url).attribute_names(QueueAttributeName::All);
    let attributes = attributes.send().await.unwrap().attributes.unwrap();
    assert_eq!(attributes[&QueueAttributeName::ApproximateNumberOfMessages], "1");
    assert_eq!(attributes[&QueueAttributeName::ApproximateNumberOfMessagesNotVisible], "1");
}

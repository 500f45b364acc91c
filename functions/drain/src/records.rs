//! An SQS event source's event, as deliveries, and the answer that keeps what isn't finished.

use std::collections::BTreeMap;

use eventlane_contracts::{Clock, StreamName};
use eventlane_queue::{Attributes, Delivery, Receipt};
use serde::{Deserialize, Serialize};

/// The event. One record is one message, leased already.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct SqsEvent {
    pub(crate) records: Vec<Record>,
}

/// A message as Lambda writes it. What is missing reads as empty: a record is never the reason that
/// its batch fails.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Record {
    message_id: String,
    receipt_handle: String,
    body: String,
    attributes: BTreeMap<String, String>,
    message_attributes: BTreeMap<String, MessageAttribute>,
    #[serde(rename = "eventSourceARN")]
    event_source_arn: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct MessageAttribute {
    string_value: Option<String>,
}

/// The answer: the messages that Lambda must not delete.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BatchResponse {
    batch_item_failures: Vec<Failure>,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Failure {
    item_identifier: String,
}

impl BatchResponse {
    pub(crate) fn of(unfinished: Vec<String>) -> Self {
        let failure = |item_identifier| Failure { item_identifier };
        Self { batch_item_failures: unfinished.into_iter().map(failure).collect() }
    }
}

impl Record {
    /// The message's id, and the message as a delivery where its queue is one of the lane's.
    pub(crate) fn into_delivery(self, prefix: &str, clock: &dyn Clock) -> (String, Option<Delivery>) {
        let id = self.message_id.clone();
        let Some(stream) = stream(&self.event_source_arn, prefix) else { return (id, None) };
        if self.receipt_handle.is_empty() {
            return (id, None);
        }
        let number = |name: &str| self.attributes.get(name).and_then(|text| text.parse::<i64>().ok());
        let count = number("ApproximateReceiveCount").and_then(|count| u32::try_from(count).ok());
        let first = number("ApproximateFirstReceiveTimestamp").map(|ms| ms.saturating_mul(1000));
        let pairs = self.message_attributes.iter();
        let pairs = pairs.filter_map(|(name, one)| Some((name.as_str(), one.string_value.as_deref()?)));
        let delivery = Delivery {
            id: self.message_id,
            stream,
            attributes: Attributes::from_pairs(pairs),
            body: self.body,
            receive_count: count.unwrap_or(1),
            first_received_us: first.unwrap_or_else(|| clock.now_us()),
            receipt: Receipt::from_handle(self.receipt_handle),
        };
        (id, Some(delivery))
    }
}

/// The stream of a queue's ARN, `arn:aws:sqs:<region>:<account>:<name>-<stream>`.
fn stream(arn: &str, url_prefix: &str) -> Option<StreamName> {
    let name = url_prefix.rsplit('/').next()?;
    let queue = arn.rsplit(':').next()?;
    StreamName::new(queue.strip_prefix(name)?.strip_prefix('-')?).ok()
}

#[cfg(test)]
mod tests {
    use eventlane_contracts::SystemClock;

    use super::*;

    const PREFIX: &str = "https://sqs.eu-west-1.amazonaws.com/123456789012/eventlane";

    #[test]
    fn a_record_is_a_delivery_with_its_count_and_its_story() {
        // As AWS documents it, with a partial retry's attributes.
        let text = r#"{"Records":[{"messageId":"059f36b4-87a3-44ab-83d2-661975830a7d",
            "receiptHandle":"AQEBwJnKyrHigUMZj6rYigCgxlaS3SLy0a","body":"{\"x\":1}",
            "attributes":{"ApproximateReceiveCount":"3","SentTimestamp":"1545082649183",
            "SenderId":"AIDAIENQZJOLO23YVJ4VO","ApproximateFirstReceiveTimestamp":"1545082649185"},
            "messageAttributes":{"v":{"stringValue":"1","stringListValues":[],"binaryListValues":[],"dataType":"Number"},
            "attempts":{"stringValue":"2","dataType":"Number"}},
            "md5OfBody":"e4e68fb7bd0e697a0ae8f1bb342846b3","eventSource":"aws:sqs",
            "eventSourceARN":"arn:aws:sqs:eu-west-1:123456789012:eventlane-issue_viewed","awsRegion":"eu-west-1"}]}"#;
        let mut event: SqsEvent = serde_json::from_str(text).unwrap();
        let (id, delivery) = event.records.remove(0).into_delivery(PREFIX, &SystemClock);
        let delivery = delivery.unwrap();
        assert_eq!(
            (id.as_str(), delivery.stream.as_str()),
            ("059f36b4-87a3-44ab-83d2-661975830a7d", "issue_viewed")
        );
        assert_eq!((delivery.body.as_str(), delivery.receive_count), (r#"{"x":1}"#, 3));
        assert_eq!(
            (delivery.attributes.attempts, delivery.first_received_us),
            (Some(2), 1_545_082_649_185_000)
        );
    }

    #[test]
    fn a_record_of_no_queue_of_ours_or_without_a_receipt_is_no_delivery() {
        for text in [
            "{}",
            r#"{"messageId":"m","receiptHandle":"r","eventSourceARN":"arn:aws:sqs:r:1:other-issue_viewed"}"#,
            r#"{"messageId":"m","eventSourceARN":"arn:aws:sqs:r:1:eventlane-issue_viewed"}"#,
        ] {
            let record: Record = serde_json::from_str(text).unwrap();
            assert!(record.into_delivery(PREFIX, &SystemClock).1.is_none());
        }
    }

    #[test]
    fn the_answer_has_the_shape_that_lambda_reads() {
        let answer = serde_json::to_string(&BatchResponse::of(vec!["a".to_owned()])).unwrap();
        assert_eq!(answer, r#"{"batchItemFailures":[{"itemIdentifier":"a"}]}"#);
        let none = serde_json::to_string(&BatchResponse::of(Vec::new())).unwrap();
        assert_eq!(none, r#"{"batchItemFailures":[]}"#);
    }
}

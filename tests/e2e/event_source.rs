//! The drain as an event source: Lambda reads the queue, the answer says what must come again.

use std::time::Duration;

use eventlane_testkit::envelopes::Event;
use serde_json::json;

use crate::support::aws::Aws;
use crate::support::post::post;

const ISSUE: &str = r#"{"issueId":"b48b36ee-0d62-4382-8f6b-17f0b6b3bd77"}"#;

#[test]
fn records_from_localstack_are_archived_in_ministack_and_answered_one_by_one() {
    let lane = Aws::start("source", &[]);
    for n in 1..=3 {
        assert_eq!(post(&lane, &[Event::new(n, "issue_viewed", ISSUE)]).verdicts(), ["acked"]);
    }
    let mut records = lane.records("issue_viewed", 3);
    records.push(json!({"messageId": "foreign", "receiptHandle": "x", "body": "{}",
        "eventSourceARN": "arn:aws:sqs:us-east-1:000000000000:someone-elses"}));
    let answer = lane.invoke_drain(&json!({ "Records": records }), Duration::from_secs(30));
    assert_eq!(answer, json!({"batchItemFailures": [{"itemIdentifier": "foreign"}]}));
    assert_eq!(lane.scan().len(), 3);
    assert!(lane.take_messages("issue_viewed").is_empty(), "acked");
}

// D29
#[test]
fn records_on_localstack_with_no_time_left_are_given_back_at_once_and_ministack_stays_empty() {
    let lane = Aws::start("late", &[]);
    assert_eq!(post(&lane, &[Event::new(1, "issue_viewed", ISSUE)]).verdicts(), ["acked"]);
    let records = lane.records("issue_viewed", 1);
    let id = records[0]["messageId"].clone();
    let answer = lane.invoke_drain(&json!({ "Records": records }), Duration::from_secs(3));
    assert_eq!(answer, json!({"batchItemFailures": [{"itemIdentifier": id}]}));
    assert!(lane.scan().is_empty());
    assert_eq!(lane.take_messages("issue_viewed").len(), 1, "visible at once");
}

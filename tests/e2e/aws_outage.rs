//! One queue's fault is its own; an outage is the batch's.

use eventlane_testkit::envelopes::Event;

use crate::support::aws::Aws;
use crate::support::post::post;

const ISSUE: &str = r#"{"issueId":"b48b36ee-0d62-4382-8f6b-17f0b6b3bd77"}"#;
const REVIEW: &str = r#"{"cardId":"b48b36ee-0d62-4382-8f6b-17f0b6b3bd77","grade":3}"#;

#[test]
fn a_missing_queue_on_localstack_defers_its_events_alone() {
    let lane = Aws::start("missing", &["review_graded"]);
    let mixed = [Event::new(1, "review_graded", REVIEW), Event::new(2, "issue_viewed", ISSUE)];
    let answer = post(&lane, &mixed);
    assert_eq!(answer.status, 200);
    let verdicts = answer.verdicts();
    assert!(verdicts[0].starts_with("deferred: the stream's queue can't be used"), "{verdicts:?}");
    assert_eq!(verdicts[1], "acked");

    let alone = post(&lane, &mixed[..1]);
    assert_eq!(alone.status, 200, "not 503");
    assert!(alone.verdicts()[0].starts_with("deferred: "));
    assert_eq!(lane.take_messages("issue_viewed").len(), 1, "acked is queued");
}

#[test]
fn sqs_down_altogether_with_ministack_up_is_503() {
    let lane = Aws::without_sqs("down");
    let events = [Event::new(1, "review_graded", REVIEW), Event::new(2, "issue_viewed", ISSUE)];
    let answer = post(&lane, &events);
    assert_eq!((answer.status, answer.retry_after.as_deref()), (503, Some("5")));
    assert!(answer.body.get("acks").is_none() && answer.body["message"].is_string(), "{}", answer.body);
}

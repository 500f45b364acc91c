//! The nudge on a scripted SQS, and its part in a request.

use std::sync::Arc;

use eventlane_contracts::StreamName;
use eventlane_queue::{Nudge, NudgeError};
use eventlane_testkit::ManualClock;
use eventlane_testkit::scripted_sqs::{Action, Fault, ScriptedSqs};

use super::{bench, queue_on, stream};
use crate::{SqsNudge, Timeouts};

#[tokio::test]
async fn a_nudge_is_one_message_that_names_the_streams() {
    let clock = ManualClock::default();
    let sqs = ScriptedSqs::start(Arc::new(clock.clone()), ["lane-drain-nudge"]);
    let queue = queue_on(&sqs, &clock, Timeouts::default(), 1);
    let nudge = SqsNudge::new(queue, &sqs.queue_url("lane-drain-nudge")).unwrap();
    nudge.nudge(&["a", "b"].map(stream)).await.unwrap();
    let bodies: Vec<String> = sqs.messages("lane-drain-nudge").into_iter().map(|one| one.body).collect();
    assert_eq!(bodies, [r#"{"streams":["a","b"]}"#]);
    sqs.fault("lane-drain-nudge", Action::SendMessage, 1, Fault::access_denied());
    assert_eq!(nudge.nudge(&[stream("a")]).await, Err(NudgeError("AccessDenied".to_owned())));
}

#[tokio::test]
async fn a_url_that_names_no_queue_is_refused() {
    let bench = bench();
    for url in [
        "",
        "eventlane-drain-nudge",
        "ftp://host/1/x-drain-nudge",
        "https://host",
        "https://host/1/",
        "https:///1/x",
        "https://host/1/x?y",
        "https://user@host/1/x",
    ] {
        let error = SqsNudge::new(bench.queue.clone(), url).err().unwrap().to_string();
        assert!(error.contains("it should look like https://sqs."), "{url}: {error}");
    }
    let none: [StreamName; 0] = [];
    let missing = SqsNudge::new(bench.queue.clone(), &bench.sqs.queue_url("lane-nobodys")).unwrap();
    assert!(missing.nudge(&none).await.is_err(), "nothing is asked before the first");
}

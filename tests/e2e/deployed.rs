//! The real template, deployed to ministack by `cargo xtask`: posted to over HTTP, drained by its own
//! schedule, looked at and repaired by the command. Nothing here invokes a function by hand.

use std::collections::BTreeSet;

use eventlane_testkit::envelopes::Event;
use serde_json::Value;

use crate::support::deployed::Deployed;
use crate::support::post::post;
use crate::support::{earthquake, fixture, send, wait_until};

const ISSUE: &str = r#"{"issueId":"b48b36ee-0d62-4382-8f6b-17f0b6b3bd77"}"#;

/// Dead letters of a stream, as the command lists them.
fn dead_letters(lane: &Deployed, stream: &str) -> Vec<Value> {
    let output = lane.ask(&["dlq", "list", "--stream", stream, "--reason", "unreadable"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_lane_deployed_to_ministack_answers_each_event_archives_it_and_gives_up_what_is_poison() {
    let lane = Deployed::find();
    let fine = ["019a0000-0000-7000-8000-000000000001", "019a0000-0000-7000-8000-000000000002"];
    let answer = post(
        &lane,
        &[
            Event::new(1, "issue_viewed", ISSUE).event_id(fine[0]),
            Event::new(2, "issue_viewed", r#"{"issueId":7}"#),
            Event::new(3, "not_yet_known", "{}"),
            Event::new(4, "earthquake", earthquake(&[])).event_id(fine[1]),
        ],
    );
    assert_eq!(answer.status, 200, "{}", answer.body);
    let verdicts = answer.verdicts();
    assert_eq!((verdicts[0].as_str(), verdicts[3].as_str()), ("acked", "acked"), "{verdicts:?}");
    assert!(verdicts[1].starts_with("rejected: "), "{verdicts:?}");
    assert!(verdicts[2].starts_with("deferred: "), "{verdicts:?}");

    lane.put("review_graded", "poison");
    wait_until("both events in the archive", || {
        let there: BTreeSet<String> = lane.archive().into_iter().map(|event| event.event_id).collect();
        fine.iter().all(|id| there.contains(*id))
    });
    let mut letters = Vec::new();
    wait_until("a dead letter", || {
        letters = dead_letters(&lane, "review_graded");
        !letters.is_empty()
    });
    assert_eq!(letters.len(), 1, "{letters:?}");
    assert_eq!(letters[0]["reason"], "unreadable message body");

    // Put back, it is tried again, and given up again later than before: nobody has mended it.
    let given_up = letters[0]["dead_lettered_us"].as_i64().unwrap();
    let requeue =
        lane.ask(&["dlq", "requeue", "--stream", "review_graded", "--reason", "unreadable", "--yes"]);
    assert!(requeue.status.success(), "{}", String::from_utf8_lossy(&requeue.stderr));
    let said: Value = serde_json::from_slice(&requeue.stdout).unwrap();
    assert_eq!(said["count"], 1, "{said}");
    wait_until("the dead letter's second end", || {
        let again = dead_letters(&lane, "review_graded");
        again.len() == 1 && again[0]["dead_lettered_us"].as_i64().unwrap() > given_up
    });
}

#[test]
fn the_client_flushes_a_file_into_the_lane_deployed_to_ministack() {
    let lane = Deployed::find();
    let folder = tempfile::tempdir().unwrap();
    let lines = std::fs::read_to_string(fixture("streams/bird_strike.jsonl")).unwrap();
    let file = folder.path().join("strikes.jsonl");
    std::fs::write(&file, lines.lines().take(500).collect::<Vec<_>>().join("\n")).unwrap();
    let output = send(&lane, folder.path(), "bird_strike", &file);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    wait_until("every strike in the archive", || {
        lane.archive().iter().filter(|event| event.stream == "bird_strike").count() == 500
    });
}

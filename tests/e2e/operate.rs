//! Operating a lane: what waits, what is dead, putting it back, erasing someone.

use std::path::Path;

use eventlane_testkit::envelopes::Event;
use serde_json::Value;

use crate::support::aws::Aws;
use crate::support::embedded::Embedded;
use crate::support::post::post;
use crate::support::{Lane, PATIENCE, earthquake, eventlane, fixture, send};

/// Runs the command on this folder and reads its lines of JSON.
fn ask(folder: &Path, arguments: &[&str]) -> Vec<Value> {
    let output = eventlane(arguments).arg("--data").arg(folder).arg("--json").output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn stream(folder: &Path, name: &str) -> Value {
    let status = ask(folder, &["status"]).remove(0);
    let streams = status["streams"].as_array().unwrap();
    streams.iter().find(|stream| stream["stream"] == name).unwrap().clone()
}

fn drain(folder: &Path, more: &[&str]) {
    let status = eventlane(&["drain", "--data"]).arg(folder).args(more).status().unwrap();
    assert!(status.success());
}

#[test]
fn dead_letters_are_seen_put_back_and_thrown_away_and_an_identity_is_erased() {
    let folder = tempfile::tempdir().unwrap();
    let lines = std::fs::read_to_string(fixture("streams/bird_strike.jsonl")).unwrap();
    let file = folder.path().join("strikes.jsonl");
    std::fs::write(&file, lines.lines().take(250).collect::<Vec<_>>().join("\n")).unwrap();
    // A lane that takes events and never gets past its first sub-batch.
    let mut lane = Embedded::start(folder.path(), &["--hold-after", "1", "--visibility-seconds", "1"]);
    assert!(send(&lane, folder.path(), "bird_strike", &file).status.success());
    lane.process.line_with("holding after 1 sub-batches", PATIENCE);
    lane.process.kill();
    let data = folder.path();
    let counts = stream(data, "bird_strike");
    assert_eq!(counts["waiting"].as_u64().unwrap() + counts["in_flight"].as_u64().unwrap(), 2, "{counts}");
    assert!(counts["oldest_age_seconds"].is_u64() && counts["dead_letters"] == 0, "{counts}");

    // Everything that is left fails and dies.
    let held = lane.archive();
    let poison = held[0].event_id.clone();
    drain(data, &["--max-attempts", "1", "--poison", &poison]);
    assert_eq!(stream(data, "bird_strike")["dead_letters"], 1);
    let letters = ask(data, &["dlq", "list", "--event", &poison.to_uppercase()]);
    assert_eq!(letters.len(), 1);
    assert!(letters[0]["reason"].as_str().unwrap().starts_with("poison"), "{}", letters[0]);
    assert!(!letters[0].to_string().contains("BARKSDALE"), "a listing shows no payload");
    assert!(ask(data, &["dlq", "list", "--reason", "elsewhere"]).is_empty());
    let shown = ask(data, &["dlq", "show", letters[0]["id"].as_str().unwrap()]).remove(0);
    assert!(shown["events"].as_array().unwrap().contains(&poison.clone().into()) && shown["body"].is_null());

    let unsaid = eventlane(&["dlq", "discard", "--yes", "--data"]).arg(data).output().unwrap();
    assert_eq!(unsaid.status.code(), Some(1), "which ones has to be said");
    let dry = ask(data, &["dlq", "requeue", "--reason", "poison"]).remove(0);
    assert_eq!((dry["dry_run"].as_bool(), dry["count"].as_u64()), (Some(true), Some(1)));
    assert_eq!(stream(data, "bird_strike")["dead_letters"], 1, "a dry run");
    let real = ask(data, &["dlq", "requeue", "--all", "--yes"]).remove(0);
    assert_eq!(real["count"], 1);
    let counts = stream(data, "bird_strike");
    assert_eq!((counts["waiting"].as_u64(), counts["dead_letters"].as_u64()), (Some(1), Some(0)));
    drain(data, &[]);
    assert_eq!(lane.archive().len(), 250, "a redriven dead letter runs again");

    let who = ["archive", "erase", "--identity", "reporterId=tester"];
    assert_eq!(ask(data, &who).remove(0)["found"], 250);
    assert_eq!(lane.archive().len(), 250, "a dry run");
    assert_eq!(ask(data, &[&who[..], &["--yes"]].concat()).remove(0)["erased"], 250);
    assert!(lane.archive().is_empty());
}

/// Runs the command on this lane and reads its lines of JSON.
fn ask_aws(lane: &Aws, arguments: &[&str]) -> Vec<Value> {
    let output = lane.ask(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn the_same_commands_work_on_localstack_and_ministack() {
    let lane = Aws::start("operate", &[]);
    assert_eq!(post(&lane, &[Event::new(1, "earthquake", earthquake(&[]))]).verdicts(), ["acked"]);
    lane.put("bird_strike", "hello");
    assert_eq!(lane.drain(), 1);
    let counts = |stream: &str| {
        let status = ask_aws(&lane, &["status"]).remove(0);
        let streams = status["streams"].as_array().unwrap().clone();
        streams.into_iter().find(|one| one["stream"] == stream).unwrap()
    };
    assert_eq!(counts("bird_strike")["dead_letters"], 1);
    let letters = ask_aws(&lane, &["dlq", "list", "--reason", "unreadable"]);
    assert_eq!(letters.len(), 1, "{letters:?}");
    assert_eq!(ask_aws(&lane, &["dlq", "requeue", "--reason", "unreadable"]).remove(0)["dry_run"], true);
    assert_eq!(ask_aws(&lane, &["dlq", "requeue", "--reason", "unreadable", "--yes"]).remove(0)["count"], 1);
    assert_eq!(lane.take_messages("bird_strike"), ["hello"]);

    let who = ["archive", "erase", "--identity", "reporterId=tester"];
    assert_eq!(ask_aws(&lane, &who).remove(0)["found"], 1);
    assert_eq!(ask_aws(&lane, &[&who[..], &["--yes"]].concat()).remove(0)["erased"], 1);
    assert!(lane.archived().is_empty());
}

#[test]
fn looking_at_a_folder_without_a_lane_makes_none() {
    let folder = tempfile::tempdir().unwrap();
    let output = eventlane(&["status", "--data"]).arg(folder.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("holds no lane's queues"));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

//! The example's promises: sound streams that fit real records, a lock that is up to date, a gate
//! that asks for consent.

#[cfg(feature = "server")]
mod gate;

use std::path::PathBuf;

use eventlane_contracts::{Lock, Registry};

use crate::registry;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn takes(registry: &Registry, stream: &str, payload: &str) -> bool {
    registry.stream(stream).unwrap().check(payload).is_ok()
}

#[test]
fn every_public_record_fits_its_stream_and_is_kept_literally() {
    let registry = registry().unwrap();
    for (stream, count) in [("bird_strike", 10_000), ("earthquake", 1_707)] {
        let path = root().join(format!("tests/fixtures/streams/{stream}.jsonl"));
        let lines = std::fs::read_to_string(path).unwrap();
        assert_eq!(lines.lines().count(), count);
        for line in lines.lines() {
            let checked = registry.stream(stream).unwrap().check(line).unwrap();
            assert_eq!(checked.output, checked.stored);
        }
    }
}

#[test]
fn typed_streams_are_held_to_their_types() {
    let registry = registry().unwrap();
    let id = "b48b36ee-0d62-4382-8f6b-17f0b6b3bd77";
    assert!(takes(&registry, "issue_viewed", &format!(r#"{{"issueId":"{id}"}}"#)));
    assert!(!takes(&registry, "issue_viewed", r#"{"issueId":"x"}"#));
    assert!(!takes(&registry, "issue_viewed", &format!(r#"{{"issueId":"{id}","extra":1}}"#)));
    for (grade, taken) in
        [("0", false), ("1", true), ("4", true), ("5", false), ("1.5", false), ("\"1\"", false)]
    {
        let payload = format!(r#"{{"cardId":"{id}","grade":{grade}}}"#);
        assert_eq!(takes(&registry, "review_graded", &payload), taken, "{grade}");
    }
}

#[test]
fn identity_is_declared_as_the_server_stamps_it() {
    let registry = registry().unwrap();
    let paths: Vec<String> = registry
        .streams()
        .flat_map(|stream| stream.identity().fields().map(|(field, path)| format!("{field} {path}")))
        .collect();
    assert_eq!(
        paths,
        ["reporterId sub", "reporterId sub", "viewerId sub", "learnerId app_metadata.person_id"]
    );
}

#[test]
fn the_lock_is_up_to_date() {
    let lock = Lock::of(&registry().unwrap()).to_text();
    eventlane_testkit::golden(root().join("streams.lock.json"), &lock);
}

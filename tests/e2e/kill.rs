//! `kill -9` with work left: nothing is lost, nothing is archived twice.

use std::collections::BTreeSet;

use crate::support::embedded::Embedded;
use crate::support::{Lane, PATIENCE, fixture, send};

#[test]
fn a_killed_lane_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let lines = std::fs::read_to_string(fixture("streams/bird_strike.jsonl")).unwrap();
    let file = folder.path().join("strikes.jsonl");
    std::fs::write(&file, lines.lines().take(3000).collect::<Vec<_>>().join("\n")).unwrap();

    let mut lane = Embedded::start(folder.path(), &["--hold-after", "3", "--visibility-seconds", "1"]);
    let output = send(&lane, folder.path(), "bird_strike", &file);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // Three sub-batches were handled; the third is archived and will never be acked by this process.
    lane.process.line_with("holding after 3 sub-batches", PATIENCE);
    lane.process.kill();
    let (archived, queued) = (lane.archive().len(), lane.queued());
    assert!(archived > 0 && archived < 3000, "{archived} archived");
    assert_eq!(queued, 13, "15 sub-batches came, 2 were acked");
    let calls_before = lane.handler_calls().len();
    drop(lane);

    let lane = Embedded::start(folder.path(), &["--visibility-seconds", "1"]);
    let archived = lane.archived();
    let ids: BTreeSet<&String> = archived.iter().map(|event| &event.event_id).collect();
    assert_eq!((ids.len(), archived.len()), (3000, 3000), "nothing lost, nothing twice");
    let calls = lane.handler_calls();
    let called: BTreeSet<&String> = calls.iter().collect();
    assert_eq!(called, ids);
    assert_eq!(calls.len() - called.len(), 200, "only the sub-batch that was held came again");
    assert!(calls_before < calls.len());
}

//! Real public records arrive, every one, numbers literally.

use std::path::Path;

use crate::support::aws::Aws;
use crate::support::embedded::Embedded;
use crate::support::{Lane, fixture, send};

/// The records that are repeated in the file are events of their own, so payloads are compared as
/// a sorted list, not as a set.
fn records_arrive(lane: &dyn Lane, folder: &Path, stream: &str, count: usize) {
    let file = fixture(&format!("streams/{stream}.jsonl"));
    let output = send(lane, folder, stream, &file);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said} {}", String::from_utf8_lossy(&output.stderr));
    let expected = format!("{count} appended; {count} acked, 0 refused, 0 rejected, 0 deferred");
    assert_eq!(said.trim(), expected);

    let archived: Vec<_> = lane.archived().into_iter().filter(|event| event.stream == stream).collect();
    let mut ids: Vec<&String> = archived.iter().map(|event| &event.event_id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count);
    let mut payloads: Vec<String> = archived.iter().map(|event| event.payload.clone()).collect();
    // The files have spaces after `:` and `,` outside strings; nothing else may differ.
    let lines = std::fs::read_to_string(file).unwrap();
    let mut sent: Vec<String> = lines.lines().map(compact).collect();
    payloads.sort_unstable();
    sent.sort_unstable();
    assert!(payloads == sent, "an archived payload is not its input line");
}

/// Takes white space outside strings away: the independent way of a test.
fn compact(line: &str) -> String {
    let mut in_string = false;
    let mut before = ' ';
    line.chars()
        .filter(|&c| {
            if c == '"' && before != '\\' {
                in_string = !in_string;
            }
            before = c;
            in_string || !c.is_whitespace()
        })
        .collect()
}

#[test]
fn on_one_machine() {
    let folder = tempfile::tempdir().unwrap();
    let lane = Embedded::start(folder.path(), &[]);
    records_arrive(&lane, folder.path(), "bird_strike", 10_000);
    records_arrive(&lane, folder.path(), "earthquake", 1_707);
    assert_eq!(lane.handler_calls().len(), 11_707, "nothing was handled twice");
}

#[test]
fn on_localstack_and_ministack() {
    let folder = tempfile::tempdir().unwrap();
    let lane = Aws::start("records", &[]);
    records_arrive(&lane, folder.path(), "bird_strike", 10_000);
    records_arrive(&lane, folder.path(), "earthquake", 1_707);
}

//! What a payload's text says arrives as it was said; what no one could read is rejected alone.

use eventlane_testkit::envelopes::{Event, event_id};

use crate::support::aws::Aws;
use crate::support::embedded::Embedded;
use crate::support::post::post;
use crate::support::{Lane, earthquake};

fn literals_arrive(lane: &dyn Lane) {
    let payloads = [
        earthquake(&[("mag", "1.10"), ("rms", "1E2"), ("dmin", "-0.0"), ("time", "12345678901234567890123")]),
        earthquake(&[("title", r#""\uffff \u00e9 \/ é""#)]),
    ];
    let deep = earthquake(&[("place", &format!("{}{}", "[".repeat(200), "]".repeat(200)))]);
    let bad = [
        earthquake(&[("title", r#""\ud800""#)]),
        earthquake(&[("mag", "1e400")]),
        deep,
        earthquake(&[("title", r#""x","title":"y""#)]),
    ];
    let good = payloads.iter().cloned();
    let events: Vec<Event> = good
        .chain(bad)
        .chain([earthquake(&[])])
        .zip(1..)
        .map(|(payload, n)| Event::new(n, "earthquake", payload))
        .collect();
    let verdicts = post(lane, &events).verdicts();
    for (index, verdict) in verdicts.iter().enumerate() {
        let expected = if (2..6).contains(&index) { "rejected: payload" } else { "acked" };
        assert!(verdict.starts_with(expected), "{index}: {verdict}");
    }
    let mut archived = lane.archived();
    archived.sort_by(|one, other| one.event_id.cmp(&other.event_id));
    let arrived: Vec<(String, String)> =
        archived.into_iter().map(|event| (event.event_id, event.payload)).collect();
    let sent = [(1, payloads[0].clone()), (2, payloads[1].clone()), (7, earthquake(&[]))]
        .map(|(n, text)| (event_id(n), text));
    assert_eq!(arrived, sent);
}

#[test]
fn on_one_machine() {
    let folder = tempfile::tempdir().unwrap();
    literals_arrive(&Embedded::start(folder.path(), &[]));
}

#[test]
fn on_localstack_and_ministack() {
    literals_arrive(&Aws::start("literals", &[]));
}

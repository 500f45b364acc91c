//! A full batch of 4,000-byte payloads to one stream arrives complete, in append order, in messages
//! that fit.

use eventlane_contracts::MessageBody;
use eventlane_contracts::limits::MESSAGE_BYTES;
use eventlane_testkit::envelopes::{Event, event_id};

use crate::support::aws::Aws;
use crate::support::embedded::Embedded;
use crate::support::post::post;
use crate::support::{Lane, earthquake};

/// 4,000 bytes of payload, most of them in four-byte characters.
fn batch() -> Vec<Event> {
    let with = |types: &str| earthquake(&[("types", &format!("\"{types}\""))]);
    let room = 4000 - with("").len();
    let payload = with(&format!("{}{}", "\u{1D11E}".repeat(room / 4), "x".repeat(room % 4)));
    assert_eq!(payload.len(), 4000);
    (0..1000).map(|n| Event::new(n, "earthquake", payload.clone())).collect()
}

fn all_ids() -> Vec<String> {
    (0..1000).map(event_id).collect()
}

#[test]
fn on_one_machine() {
    let folder = tempfile::tempdir().unwrap();
    let lane = Embedded::start(folder.path(), &[]);
    assert!(post(&lane, &batch()).verdicts().iter().all(|verdict| verdict == "acked"));
    assert_eq!(lane.archived().len(), 1000);
    assert_eq!(lane.handler_calls(), all_ids(), "the handler saw them once, in append order");
}

#[test]
fn on_localstack_and_ministack() {
    let lane = Aws::start("large", &[]);
    assert!(post(&lane, &batch()).verdicts().iter().all(|verdict| verdict == "acked"));
    let mut all = Vec::new();
    for body in lane.take_messages("earthquake") {
        assert!(body.len() <= MESSAGE_BYTES, "{} bytes", body.len());
        let message: MessageBody = serde_json::from_str(&body).unwrap();
        let ids: Vec<String> = message.events.into_iter().map(|event| event.event_id).collect();
        assert!(ids.is_sorted(), "append order inside each message");
        all.extend(ids);
    }
    all.sort_unstable();
    assert_eq!(all, all_ids());
}

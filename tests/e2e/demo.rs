//! The demo accounts for every event.

use serde_json::Value;

use crate::support::eventlane;

#[test]
fn the_demo_accounts_for_every_event_in_one_line_of_json() {
    let output = eventlane(&["demo", "--json"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().count(), 1, "{text}");
    let summary: Value = serde_json::from_str(&text).unwrap();
    let count = |key: &str| summary[key].as_u64().unwrap_or_else(|| panic!("{key} is missing in {text}"));
    assert_eq!(count("appended"), count("acked") + count("refused") + count("rejected") + count("deferred"));
    assert_eq!(count("acked"), count("delivered") + count("dead_lettered"));
    for shown in ["refused", "rejected", "deferred", "delivered", "dead_lettered", "redelivered"] {
        assert!(count(shown) > 0, "{shown} is not shown: {text}");
    }
    assert_eq!(count("lost"), 0);
    let order = [
        "appended",
        "acked",
        "refused",
        "rejected",
        "deferred",
        "delivered",
        "dead_lettered",
        "redelivered",
        "lost",
    ];
    let places: Vec<usize> = order.iter().map(|key| text.find(&format!("\"{key}\":")).unwrap()).collect();
    assert!(places.is_sorted(), "{text}");
}

#[test]
fn the_demo_tells_a_person_the_same() {
    let output = eventlane(&["demo"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("killed while holding after 5 sub-batches"), "{text}");
    assert!(text.trim_end().ends_with("lost: 0"), "{text}");
}

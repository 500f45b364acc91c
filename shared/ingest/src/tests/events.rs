//! Verdicts: trouble inside one event is that event's, and its neighbours go their way.

use super::*;

/// One good neighbour on each side of a payload; all in one stream and message.
async fn between_neighbours(stream: &str, payload: &str) -> (Door, String) {
    let door = door();
    let events = [
        Event::new(1, stream, r#"{"n":1}"#),
        Event::new(2, stream, payload),
        Event::new(3, stream, r#"{"n":3}"#),
    ];
    let answered = door.send(&events).await;
    assert_eq!(answered.status, 200);
    let verdicts = answered.verdicts();
    assert_eq!((verdicts[0].as_str(), verdicts[2].as_str()), ("acked", "acked"), "{payload}");
    (door, verdicts[1].clone())
}

#[tokio::test]
async fn an_unreadable_payload_is_rejected_alone() {
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    let huge = format!("\"{}\"", "x".repeat(65_536));
    for (payload, reason) in [
        (r#"{"s":"\ud800"}"#, "surrogate"),
        (r#"{"n":1e400}"#, "out of range"),
        (&deep, "64 levels"),
        (r#"{"a":1,"\u0061":2}"#, "the same key twice"),
        (&huge, "65538 bytes"),
    ] {
        let (door, verdict) = between_neighbours("any_thing", payload).await;
        assert!(verdict.starts_with("rejected: ") && verdict.contains(reason), "{verdict}");
        assert_eq!(door.queues.events().len(), 2);
    }
}

/// I15
#[tokio::test]
async fn what_sqs_refuses_is_escaped_and_keeps_its_value() {
    for payload in ["\"\\uffff\"", "\"\u{FFFF}\"", "{\"\u{FFFE}\":1}"] {
        let (door, verdict) = between_neighbours("any_thing", payload).await;
        assert_eq!(verdict, "acked");
        let body = &door.queues.messages()[0].body;
        assert!(body.chars().all(eventlane_contracts::text::is_sendable));
        let queued = door.queues.events().remove(1);
        assert_eq!(queued.payload_as::<Value>().unwrap(), serde_json::from_str::<Value>(payload).unwrap());
    }
}

#[tokio::test]
async fn odd_literals_reach_a_schema_stream_as_sent() {
    let payload = r#"[ 1.10, 1E2, -0.0, 12345678901234567890123, "\u00e9\/" ]"#;
    let (door, verdict) = between_neighbours("any_thing", payload).await;
    assert_eq!(verdict, "acked");
    assert_eq!(
        door.queues.events()[1].payload.get(),
        r#"[1.10,1E2,-0.0,12345678901234567890123,"\u00e9\/"]"#
    );
}

/// I06
#[tokio::test]
async fn a_panic_in_a_users_type_is_one_events_deferral() {
    let (door, verdict) = between_neighbours("fragile", r#"{"n":13}"#).await;
    assert_eq!(verdict, "deferred: internal");
    assert_eq!(
        door.send(&[Event::new(9, "fragile", r#"{"n":4}"#)]).await.verdicts(),
        ["acked"],
        "it lives on"
    );
}

#[tokio::test]
async fn unknown_streams_are_deferred_and_times_beyond_64_bits_rejected() {
    let door = door();
    let one = || Event::new(1, "any_thing", "1");
    let events = [
        Event::new(1, "not_deployed", "1"),
        one().occurred_at_us("9223372036854775807"),
        one().occurred_at_us("9223372036854775808"),
        one().occurred_at_us("00000000000000000001"),
        Event::new(2, "  any_thing\t", "1"),
    ];
    let verdicts = door.send(&events).await.verdicts();
    let statuses: Vec<&str> = verdicts.iter().map(|verdict| verdict.split(':').next().unwrap()).collect();
    assert_eq!(statuses, ["deferred", "acked", "rejected", "rejected", "acked"]);
}

#[tokio::test]
async fn identity_comes_from_the_claims_alone_and_whole() {
    let door = door();
    let payload = r#"{"issueId":"bbbbbbbb-bbbb-4bbb-8bbb-bbbbbbbbbbbb"}"#;
    let events = [Event::new(1, "issue_viewed", payload), Event::new(2, "needs_person", r#"{"a":1}"#)];
    let verdicts = door.send(&events).await.verdicts();
    assert_eq!(verdicts[0], "acked");
    assert_eq!(
        verdicts[1],
        "rejected: identity personId can't be stamped: claim app_metadata.person_id is absent"
    );
    let queued = door.queues.events();
    assert_eq!(queued[0].identity, BTreeMap::from([("viewerId".to_owned(), "user-1".to_owned())]));
}

#[tokio::test]
async fn ids_are_echoed_byte_for_byte_and_queued_in_lower_case() {
    let door = door();
    let id = "AAAAAAAA-aaaa-4AAA-8AAA-AAAAAAAAAAAA";
    let answered = door.send(&[Event::new(1, "any_thing", "1").event_id(id)]).await;
    assert_eq!(answered.body["acks"][0]["eventId"], id);
    assert_eq!(door.queues.events()[0].event_id, id.to_ascii_lowercase());
}

//! The wire's framing: what answers the whole batch, and what is left to one event.

use crate::limits;
use crate::wire::{Ack, Answer, Batch, FramingError, Status};

const ID: &str = "aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa";

fn envelope(payload: &str) -> String {
    format!(r#"{{"stream":"s","eventId":"{ID}","occurredAtUs":"1","payload":{payload}}}"#)
}

fn shape(body: &str) -> String {
    match Batch::parse(body.as_bytes()) {
        Err(FramingError::Shape(message)) => message,
        other => panic!("{body}: {other:?}"),
    }
}

#[test]
fn trouble_inside_a_payload_does_not_break_the_frame() {
    let deep = format!("{}{}", "[".repeat(30_000), "]".repeat(30_000));
    for payload in [r#"{"s":"\ud800"}"#, r#"{"n":1e400}"#, r#"{"a":1,"a":2}"#, &deep] {
        let body = format!(r#"{{"events":[{}]}}"#, envelope(payload));
        assert_eq!(Batch::parse(body.as_bytes()).unwrap().events[0].payload.get(), payload);
    }
}

#[test]
fn what_is_not_the_shape_is_one_fault_for_the_batch() {
    let good = envelope("1");
    for body in [
        "",
        "{",
        "[]",
        "{}",
        r#"{"events":[]}"#,
        r#"{"events":{}}"#,
        r#"{"events":null}"#,
        &format!(r#"{{"events":[{good}],"more":1}}"#),
        &format!(r#"{{"events":[{good}],"events":[{good}]}}"#),
        &format!(r#"{{"events":[{good}]}} x"#),
        &format!(r#"{{"events":[{}]}}"#, good.replace("\"1\"", "1")),
        &format!(r#"{{"events":[{}]}}"#, good.replace("\"1\"", "\"\"")),
        &format!(r#"{{"events":[{}]}}"#, good.replace("\"1\"", "\"-1\"")),
        &format!(r#"{{"events":[{}]}}"#, good.replace(ID, "aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaa")),
        &format!(r#"{{"events":[{}]}}"#, good.replace(ID, "{aaaaaaaaaaaa-4aaa-8aaa-aaaaaaaaaaa}")),
        &format!(r#"{{"events":[{}]}}"#, good.replace("\"s\"", "\"  \"")),
        &format!(r#"{{"events":[{}]}}"#, good.replace("\"stream\"", "\"seq\":1,\"stream\"")),
        &format!(r#"{{"events":[{}]}}"#, good.replace(",\"payload\":1", "")),
        &format!(r#"{{"events":[{}]}}"#, envelope(r#""\x""#)),
    ] {
        assert!(!shape(body).is_empty());
    }
    assert!(matches!(Batch::parse(b"{\"events\":[\"\xff\"]}"), Err(FramingError::Shape(_))));
}

#[test]
fn a_framing_fault_carries_nothing_of_the_body() {
    let body = format!(r#"{{"events":[{}]}}"#, envelope("1").replace("\"1\"", "\"s3cret\""));
    assert!(!shape(&body).contains("s3cret"));
    let body = format!(r#"{{"events":[{}],"s3cret":1}}"#, envelope("1"));
    assert!(!shape(&body).contains("s3cret"));
}

#[test]
fn too_many_events_is_a_count_whatever_their_shape() {
    let events = |good: usize, bad: usize| {
        let mut events = vec![envelope("1"); good];
        events.extend(vec!["{}".to_owned(); bad]);
        format!(r#"{{"events":[{}]}}"#, events.join(","))
    };
    let count = |body: String| Batch::parse(body.as_bytes()).map(|batch| batch.events.len());
    assert_eq!(count(events(limits::BATCH_EVENTS, 0)).unwrap(), limits::BATCH_EVENTS);
    assert_eq!(count(events(1001, 0)), Err(FramingError::Count(1001)));
    assert_eq!(count(events(0, 1001)), Err(FramingError::Count(1001)));
    assert_eq!(count(events(1000, 1)), Err(FramingError::Count(1001)));
    assert!(matches!(count(events(999, 1)), Err(FramingError::Shape(_))));
}

#[test]
fn the_answer_reads_back_and_leaves_the_reason_out_for_acked() {
    let answer = Answer {
        acks: vec![
            Ack { event_id: ID.into(), status: Status::Acked, reason: None },
            Ack { event_id: ID.into(), status: Status::Deferred, reason: Some("gate".into()) },
        ],
    };
    let text = serde_json::to_string(&answer).unwrap();
    assert_eq!(
        text,
        format!(
            r#"{{"acks":[{{"eventId":"{ID}","status":"acked"}},{{"eventId":"{ID}","status":"deferred","reason":"gate"}}]}}"#
        )
    );
    assert_eq!(serde_json::from_str::<Answer<'_>>(&text).unwrap(), answer);
}

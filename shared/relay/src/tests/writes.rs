//! The writer, inside the caller's transaction.

use std::sync::Arc;

use eventlane_contracts::{Registry, Stream};
use serde_json::json;

use super::engine::{Engine, Pool};
use super::recorder::{Recorder, dispatcher};
use super::{on_each_engine, on_servers};
use crate::{EntryError, LaneTopics, OutboxEntry, PAYLOAD_BYTES, TABLE, WriteError, Writer};

on_each_engine!(
    what_rolls_back_was_never_written_and_what_commits_is_published_once,
    a_bad_event_harms_no_business_transaction,
    payloads_come_back_byte_for_byte,
    another_drivers_insert_is_as_good,
);

/// R20
async fn what_rolls_back_was_never_written_and_what_commits_is_published_once(engine: &Engine) {
    let recorder = Recorder::taking();
    let mut tx = engine.begin().await;
    tx.exec("INSERT INTO business (id, what) VALUES (1, 'never')").await.unwrap();
    tx.write(&Writer::new(), "t", "never").await.unwrap();
    tx.rollback().await;
    // The process ends right after its commit: all that is left is the row.
    let mut tx = engine.begin().await;
    tx.exec("INSERT INTO business (id, what) VALUES (2, 'once')").await.unwrap();
    let id = tx.write(&Writer::new(), "t", "once").await.unwrap();
    tx.commit().await;
    for _ in 0..3 {
        dispatcher(&engine.another_driver(), &recorder).run_once().await.unwrap();
    }
    let seen = recorder.rows();
    assert_eq!((seen.len(), seen[0].id.as_str(), seen[0].payload.as_str()), (1, id.as_str(), "once"));
    assert_eq!(engine.int("SELECT COUNT(*) FROM business").await, 1);
}

/// R14: the caller's transaction commits, with its row and without the bad event.
async fn a_bad_event_harms_no_business_transaction(engine: &Engine) {
    let lane = Writer::for_lane(topics());
    let any = Writer::new();
    let large = "x".repeat(PAYLOAD_BYTES + 1);
    let mut tx = engine.begin().await;
    tx.exec("INSERT INTO business (id, what) VALUES (1, 'kept')").await.unwrap();
    for (writer, topic, payload, tag) in [
        (&any, "t", "a\0b", "nul"),
        (&any, "t\0", "x", "nul"),
        (&any, " ", "x", "empty_topic"),
        (&any, "t", large.as_str(), "payload_too_large"),
        (&lane, "unknown", r#"{"identity":{},"payload":"x"}"#, "lane"),
        (&lane, "ping", r#""x""#, "lane"),
        (&lane, "ping", r#"{"identity":{},"payload":7}"#, "lane"),
        (&lane, "ping", r#"{"identity":{"who":"me"},"payload":"x"}"#, "lane"),
    ] {
        match tx.write(writer, topic, payload).await {
            Err(WriteError::Entry(error)) => assert_eq!(error.tag(), tag),
            other => panic!("{topic:?} gives {other:?}"),
        }
    }
    let long = "é".repeat(128);
    let error = tx.write(&any, &long, "x").await.unwrap_err();
    assert_eq!(error.to_string(), "the topic has 256 bytes, the limit is 255");
    // A NUL as JSON escapes it is no NUL: the column is text, and takes it.
    let escaped = r#"{"identity":{},"payload":"\u0000"}"#;
    let id = tx.write(&lane, "ping", escaped).await.unwrap();
    tx.commit().await;
    assert_eq!(engine.int("SELECT COUNT(*) FROM business WHERE what = 'kept'").await, 1);
    let recorder = Recorder::taking();
    dispatcher(&engine.driver, &recorder).run_once().await.unwrap();
    let seen = recorder.rows();
    assert_eq!((seen.len(), &seen[0].id, seen[0].payload.as_str()), (1, &id, escaped));
}

fn topics() -> Arc<LaneTopics> {
    let ping = Stream::json_schema("ping", json!({"type": "string"}));
    Arc::new(LaneTopics::of_streams(Arc::new(Registry::define([ping]).unwrap())))
}

async fn payloads_come_back_byte_for_byte(engine: &Engine) {
    let recorder = Recorder::taking();
    let large = "é\u{1F600}".repeat(PAYLOAD_BYTES / 6);
    let payloads = [
        "",
        " trailing  ",
        "not json",
        "{\"a\" : 1.10 }",
        "quote ' \" back\\slash \\0 % _ ?",
        "$1 {ids} @P1 :x",
        "line\r\nline\ttab",
        "\u{FEFF}bom \u{FFFF} \u{1} \u{7f}",
        "\u{1F600}\u{10FFFF}",
        &large,
    ];
    for payload in payloads {
        engine.write("tópic 'x'", payload).await;
    }
    dispatcher(&engine.driver, &recorder).run_once().await.unwrap();
    let seen = recorder.rows();
    assert_eq!(seen.len(), payloads.len());
    for (row, payload) in seen.iter().zip(payloads) {
        assert!(row.payload == payload, "{:?} came back changed", payload.get(..40).unwrap_or("(large)"));
        assert_eq!(row.topic, "tópic 'x'");
    }
}

/// For applications on another driver: the checked entry is the parameters of the insert.
async fn another_drivers_insert_is_as_good(engine: &Engine) {
    let entry = OutboxEntry::new("t", "p").unwrap();
    let insert = engine.driver.dialect().statements().insert;
    let params = [entry.id(), entry.topic(), entry.payload()].map(crate::Param::Text);
    assert_eq!(engine.driver.execute(insert, &params).await.unwrap(), 1);
    // And a row whose every other column is the table's default.
    let columns = format!("INSERT INTO {TABLE} (id, topic, payload, created_at)");
    let now = match &engine.pool {
        Pool::Postgres(_) => "clock_timestamp()",
        Pool::MariaDb(_) => "DEFAULT",
        Pool::Sqlite(_) => "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')",
    };
    engine.exec(&format!("{columns} VALUES ('by hand', 't', 'q', {now})")).await;
    let recorder = Recorder::taking();
    dispatcher(&engine.driver, &recorder).run_once().await.unwrap();
    let mut ids = recorder.ids();
    ids.sort();
    let mut expected = vec![entry.id().to_owned(), "by hand".to_owned()];
    expected.sort();
    assert_eq!(ids, expected);
}

mod commits {
    use super::*;

    on_servers!(a_row_that_commits_late_is_published_and_never_purged);

    /// R01: the older row becomes visible after a newer one was published and purged.
    async fn a_row_that_commits_late_is_published_and_never_purged(engine: &Engine) {
        let recorder = Recorder::taking();
        let options = crate::DispatchOptions {
            retention: Some(std::time::Duration::ZERO),
            ..crate::DispatchOptions::default()
        };
        let dispatcher = crate::tests::recorder::with_options(&engine.driver, &recorder, options);
        let mut late = engine.begin().await;
        let first = late.write(&Writer::new(), "t", "1").await.unwrap();
        let second = engine.write("t", "2").await;
        assert!(first < second, "handed out in this order");
        let report = dispatcher.run_once().await.unwrap();
        assert_eq!((report.delivered, report.purged), (1, 1));
        late.commit().await;
        assert_eq!(engine.count("pending").await, 1, "the purge left it alone");
        assert_eq!(dispatcher.run_once().await.unwrap().delivered, 1);
        assert_eq!(recorder.ids(), [second, first]);
    }
}

#[test]
fn an_entry_is_checked_before_any_database_is_there() {
    let entry = OutboxEntry::new("t", "p").unwrap();
    assert_eq!(uuid::Uuid::try_parse(entry.id()).unwrap().get_version_num(), 7);
    assert_eq!(entry.id().len(), 36);
    assert!(OutboxEntry::new(&"t".repeat(255), &"x".repeat(PAYLOAD_BYTES)).is_ok());
    let nul = EntryError::Nul { what: "payload", at: 1 };
    assert_eq!(OutboxEntry::new("t", "a\0s3cret"), Err(nul.clone()));
    assert!(!nul.to_string().contains("s3cret"));
}

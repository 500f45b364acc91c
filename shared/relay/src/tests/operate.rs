//! What an operator does: migrate, count, look at the dead, replay them, purge.

use std::time::Duration;

use super::engine::Engine;
use super::on_each_engine;
use super::recorder::{Recorder, dispatcher, with_options};
use crate::{DispatchOptions, MigrateError, PublishError, TABLE};

on_each_engine!(
    a_migration_may_run_again_and_its_reverse_refuses_to_lose_rows,
    delivered_rows_are_purged_after_their_retention_and_pending_ones_never,
    pending_and_dead_rows_are_counted_and_aged_by_the_databases_clock,
    a_dead_row_is_listed_and_replayed_by_its_name_alone,
);

async fn a_migration_may_run_again_and_its_reverse_refuses_to_lose_rows(engine: &Engine) {
    let table = engine.table();
    table.migrate().await.unwrap();
    engine.write("t", "p").await;
    let refused = Err(MigrateError::Undelivered { pending: 1, dead: 0 });
    assert_eq!(table.unmigrate(false).await, refused);
    let recorder = Recorder::taking();
    dispatcher(&engine.driver, &recorder).run_once().await.unwrap();
    table.unmigrate(false).await.unwrap();
    table.migrate().await.unwrap();
    engine.write("t", "p").await;
    table.unmigrate(true).await.unwrap();
    table.migrate().await.unwrap();
    assert_eq!(table.counts().await.unwrap().pending, 0);
}

/// R01's cleanup: by status and the time of delivery, never by an id or an age.
async fn delivered_rows_are_purged_after_their_retention_and_pending_ones_never(engine: &Engine) {
    let ids = engine.fill(3).await;
    let options =
        DispatchOptions { batch: 2, retention: Some(Duration::from_secs(100)), ..DispatchOptions::default() };
    let recorder = Recorder::taking();
    let dispatcher = with_options(&engine.driver, &recorder, options);
    assert_eq!(dispatcher.run_once().await.unwrap().purged, 0);
    engine.age("delivered_at", &ids[0], 101).await;
    engine.age("created_at", &ids[1], 100_000).await;
    engine.age("created_at", &ids[2], 100_000).await;
    engine
        .exec(&format!(
            "UPDATE {TABLE} SET lease_owner = 'x', lease_until = created_at WHERE status = 'pending'"
        ))
        .await;
    let far =
        DispatchOptions { retention: Some(Duration::from_secs(9_000_000)), ..DispatchOptions::default() };
    let failing = Recorder::answering(|_| Err(PublishError::failed("no")));
    assert_eq!(with_options(&engine.driver, &failing, far).run_once().await.unwrap().purged, 0);
    assert_eq!(dispatcher.run_once().await.unwrap().purged, 1);
    assert_eq!((engine.count("delivered").await, engine.count("pending").await), (1, 1));
    let keep = DispatchOptions { retention: None, ..DispatchOptions::default() };
    engine.age("delivered_at", &ids[1], 9_000_000).await;
    assert_eq!(with_options(&engine.driver, &recorder, keep).run_once().await.unwrap().purged, 0);
}

async fn pending_and_dead_rows_are_counted_and_aged_by_the_databases_clock(engine: &Engine) {
    let table = engine.table();
    let none = table.counts().await.unwrap();
    assert_eq!((none.pending, none.oldest_pending_age, none.dead), (0, None, 0));
    let ids = engine.fill(4).await;
    engine.age("created_at", &ids[2], 5_000).await;
    let (dead, waiting) = (ids[0].clone(), ids[1].clone());
    let recorder = Recorder::answering(move |row| match &row.id {
        id if *id == dead => Err(PublishError::hopeless("no")),
        id if *id == waiting => Err(PublishError::failed("later")),
        _ => Ok(()),
    });
    let dispatcher = dispatcher(&engine.driver, &recorder);
    let before = dispatcher.metrics().await.unwrap();
    assert_eq!((before.pending, before.published), (4, 0));
    let age = before.oldest_pending_age.unwrap();
    assert!((Duration::from_secs(5_000)..Duration::from_secs(5_060)).contains(&age), "{age:?}");
    dispatcher.run_once().await.unwrap();
    let after = dispatcher.metrics().await.unwrap();
    assert_eq!((after.pending, after.dead, after.published, after.failed, after.lost), (1, 1, 2, 2, 0));
    assert!(after.oldest_pending_age.unwrap() < Duration::from_secs(60));
}

async fn a_dead_row_is_listed_and_replayed_by_its_name_alone(engine: &Engine) {
    let (one, other) = (engine.write("a", "été").await, engine.write("b", "p").await);
    let pending = engine.write("c", "p").await;
    engine.exec(&format!("UPDATE {TABLE} SET status = 'dead', attempts = 3, last_error = 'why', lease_owner = 'x' WHERE id <> '{pending}'")).await;
    let table = engine.table();
    let listed = table.dead(None, 10).await.unwrap();
    assert_eq!(listed.iter().map(|row| row.id.as_str()).collect::<Vec<_>>(), [one.as_str(), &other]);
    assert_eq!(table.dead(None, 1).await.unwrap().len(), 1);
    let of_a = table.dead(Some("a"), 10).await.unwrap();
    assert_eq!(of_a.len(), 1);
    let row = &of_a[0];
    assert_eq!(
        (row.topic.as_str(), row.attempts, row.last_error.as_str(), row.payload_chars),
        ("a", 3, "why", 3)
    );
    let now_us = i64::try_from(std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_micros()).unwrap();
    assert!((now_us - row.created_at_us).abs() < 60_000_000, "{row:?}");

    assert_eq!(table.dead_one(&one).await.unwrap().as_ref(), Some(row));
    for id in [pending.as_str(), "no such row", "é", "", "'; DROP TABLE business; --"] {
        assert_eq!(table.dead_one(id).await.unwrap(), None);
        assert!(!table.replay(id).await.unwrap(), "{id}");
    }
    assert!(table.replay(&one).await.unwrap());
    assert!(!table.replay(&one).await.unwrap(), "only where dead");
    let row = engine.standing(&one).await;
    assert_eq!((row.status.as_str(), row.attempts, row.owner.as_str(), row.error), ("pending", 0, "", None));
    assert!(row.lease_ms < -1_000_000_000_000, "due since the epoch");
    assert_eq!(engine.standing(&other).await.status, "dead");
    let recorder = Recorder::taking();
    dispatcher(&engine.driver, &recorder).run_once().await.unwrap();
    assert_eq!(recorder.ids(), [one, pending]);
}

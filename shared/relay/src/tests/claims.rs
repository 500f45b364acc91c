//! Claims: who owns a row, and what one who lost it can still do to it (nothing).

use std::sync::Arc;
use std::time::Duration;

use super::engine::{Engine, PATIENCE};
use super::on_each_engine;
use super::recorder::{Recorder, dispatcher, with_options};
use crate::store::Store;
use crate::{DispatchOptions, Driver};

const LEASE: Duration = Duration::from_secs(30);

on_each_engine!(
    one_token_wins_a_row_and_the_other_reads_back_nothing,
    a_lost_lease_changes_nothing,
    a_batch_is_published_in_the_order_of_writing,
    rows_lost_while_their_batch_runs_are_counted_and_left_alone,
    a_long_publish_keeps_the_lease_of_its_row_and_of_its_batch,
    two_dispatchers_share_what_is_there,
);

async fn one_token_wins_a_row_and_the_other_reads_back_nothing(engine: &Engine) {
    let ids = engine.fill(3).await;
    let store = Store::new(&*engine.driver, PATIENCE);
    let seen = store.candidates(10).await.unwrap();
    assert_eq!(seen, ids, "oldest first");
    assert_eq!(store.candidates(2).await.unwrap(), ids[..2], "bounded");
    store.claim(&seen, "a", LEASE).await.unwrap();
    store.claim(&seen, "b", LEASE).await.unwrap();
    let won = store.read_back(&seen, "a").await.unwrap();
    let won: Vec<String> = won.into_iter().map(|row| row.unwrap().id).collect();
    assert_eq!(won, ids);
    assert!(store.read_back(&seen, "b").await.unwrap().is_empty());
    assert!(store.candidates(10).await.unwrap().is_empty());
    let standing = engine.standing(&ids[0]).await;
    assert_eq!((standing.owner.as_str(), standing.attempts), ("a", 0), "a claim spends no attempt");
    assert!((28_000..=30_000).contains(&standing.lease_ms), "{standing:?}");
}

/// R02, R03: the first claim stalls, the second one parks the row; then nobody owns it, and still the
/// first one can't mark it. The same holds while the second owns it, even for one and the same worker:
/// a token is a claim's, not a worker's.
async fn a_lost_lease_changes_nothing(engine: &Engine) {
    let ids = engine.fill(1).await;
    let (id, store) = (&ids[0], Store::new(&*engine.driver, PATIENCE));
    store.claim(&ids, "first", LEASE).await.unwrap();
    assert!(store.begin(id, "first", LEASE).await.unwrap());
    engine.lapse().await;
    store.claim(&ids, "second", LEASE).await.unwrap();
    assert!(store.begin(id, "second", LEASE).await.unwrap());

    for parked in [false, true] {
        if parked {
            assert!(store.failed(id, "second", "later", false, LEASE).await.unwrap());
        }
        let before = engine.standing(id).await;
        assert_eq!(before.owner, if parked { "" } else { "second" });
        assert!(!store.delivered(id, "first").await.unwrap());
        assert!(!store.dead(id, "first", "no").await.unwrap());
        assert!(!store.failed(id, "first", "no", false, LEASE).await.unwrap());
        assert!(!store.begin(id, "first", LEASE * 9).await.unwrap(), "a zombie's heartbeat");
        assert_eq!(store.renew(&ids, "first", LEASE * 9).await.unwrap(), 0);
        assert_eq!(store.release(&ids, "first", Duration::ZERO).await.unwrap(), 0);
        let after = engine.standing(id).await;
        assert_eq!(
            (after.status, after.attempts, after.owner),
            (before.status, before.attempts, before.owner)
        );
        assert!(after.lease_ms <= before.lease_ms + 1, "{} then {}", before.lease_ms, after.lease_ms);
    }
}

async fn a_batch_is_published_in_the_order_of_writing(engine: &Engine) {
    let ids = engine.fill(150).await;
    let recorder = Recorder::taking();
    let dispatcher = dispatcher(&engine.driver, &recorder);
    let report = dispatcher.run_once().await.unwrap();
    assert_eq!((report.claimed, report.delivered, report.failed), (100, 100, 0));
    assert_eq!(recorder.ids(), ids[..100]);
    assert_eq!(dispatcher.run_once().await.unwrap().delivered, 50);
    assert_eq!(recorder.ids(), ids);
    assert_eq!(dispatcher.run_once().await.unwrap().claimed, 0);
    assert_eq!(engine.count("delivered").await, 150);
}

/// R04: the lease of the batch's tail is over before its turn and another dispatcher takes it; the
/// first one finds out before it publishes, and counts it.
async fn rows_lost_while_their_batch_runs_are_counted_and_left_alone(engine: &Engine) {
    let ids = engine.fill(10).await;
    let other = Recorder::taking();
    let thief = Arc::new(dispatcher(&engine.another_driver(), &other));
    let recorder = Recorder::acting({
        let (thief, tail, driver) = (thief.clone(), ids[1..].to_vec(), engine.driver.clone());
        move |row| {
            let (thief, tail, driver) = (thief.clone(), tail.clone(), driver.clone());
            Box::pin(async move {
                if !tail.contains(&row.id) {
                    lapse(&*driver, &tail).await;
                    assert_eq!(thief.run_once().await.unwrap().delivered, 9);
                }
                Ok(())
            })
        }
    });
    let report = dispatcher(&engine.driver, &recorder).run_once().await.unwrap();
    assert_eq!((report.claimed, report.delivered, report.lost, report.failed), (10, 1, 9, 0));
    assert_eq!((recorder.ids(), other.ids()), (ids[..1].to_vec(), ids[1..].to_vec()));
    assert_eq!(engine.count("delivered").await, 10);
}

/// Ends the leases of these rows, as time would.
async fn lapse(driver: &dyn Driver, ids: &[String]) {
    let list = ids.iter().map(|id| format!("'{id}'")).collect::<Vec<_>>().join(", ");
    let epoch = if driver.dialect() == crate::Dialect::Sqlite {
        "1970-01-01T00:00:00.000Z"
    } else {
        "1970-01-01 00:00:00"
    };
    let sql = format!("UPDATE {} SET lease_until = '{epoch}' WHERE id IN ({list})", crate::TABLE);
    driver.execute(&sql, &[]).await.unwrap();
}

/// R04: a publish goes on until both its own row's and the tail's lease were renewed under it.
async fn a_long_publish_keeps_the_lease_of_its_row_and_of_its_batch(engine: &Engine) {
    let ids = engine.fill(2).await;
    let recorder = Recorder::acting({
        let (driver, ids) = (engine.driver.clone(), ids.clone());
        move |row| {
            let (driver, ids) = (driver.clone(), ids.clone());
            Box::pin(async move {
                if row.id != ids[0] {
                    return Ok(());
                }
                let cast = if driver.dialect() == crate::Dialect::Sqlite { "TEXT" } else { "CHAR(40)" };
                let until = format!(
                    "SELECT CAST(lease_until AS {cast}) FROM {} ORDER BY created_at, id",
                    crate::TABLE
                );
                let first = driver.fetch(&until, &[]).await.unwrap();
                let renewed = async {
                    loop {
                        let now = driver.fetch(&until, &[]).await.unwrap();
                        if now[0] != first[0] && now[1] != first[1] {
                            return;
                        }
                        tokio::task::yield_now().await;
                    }
                };
                tokio::time::timeout(PATIENCE, renewed).await.expect("no renewal came");
                Ok(())
            })
        }
    });
    let options = DispatchOptions {
        lease: Duration::from_secs(1),
        publish_timeout: PATIENCE,
        ..DispatchOptions::default()
    };
    let report = with_options(&engine.driver, &recorder, options).run_once().await.unwrap();
    assert_eq!((report.delivered, report.lost), (2, 0));
}

async fn two_dispatchers_share_what_is_there(engine: &Engine) {
    let ids = engine.fill(40).await;
    let options = || DispatchOptions { batch: 5, ..DispatchOptions::default() };
    let recorder = Recorder::taking();
    let one = with_options(&engine.driver, &recorder, options());
    let two = with_options(&engine.another_driver(), &recorder, options());
    let (one, two) = tokio::join!(one.run_for(PATIENCE), two.run_for(PATIENCE));
    assert_eq!(one.unwrap().delivered + two.unwrap().delivered, 40);
    let mut published = recorder.ids();
    published.sort();
    let mut ids = ids;
    ids.sort();
    assert_eq!(published, ids, "each once: nobody died");
}

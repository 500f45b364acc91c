//! The database's faults: between publish and mark, in a claim, in the middle of a batch.

use std::sync::atomic::Ordering;

use super::engine::Engine;
use super::on_each_engine;
use super::recorder::{Recorder, Watched, dispatcher};
use crate::{Driver, DriverError, RunError};

on_each_engine!(
    a_row_whose_mark_failed_comes_again_with_the_same_id_and_bytes,
    a_statement_that_has_to_give_way_is_sent_again,
    a_database_that_is_down_is_an_error_and_no_attempt,
    a_table_that_is_missing_is_said_so,
);

/// R21
async fn a_row_whose_mark_failed_comes_again_with_the_same_id_and_bytes(engine: &Engine) {
    let id = engine.write("t", "{\"n\": 1.10}").await;
    let behind = engine.write("t", "behind").await;
    let (watched, recorder) = (Watched::new(&engine.driver), Recorder::taking());
    let driver: std::sync::Arc<dyn Driver> = watched.clone();
    let dispatcher = dispatcher(&driver, &recorder);
    let mark = engine.driver.dialect().statements().delivered;
    watched.fail(mark, 1, DriverError::Unreachable("told to"));
    assert!(matches!(dispatcher.run_once().await, Err(RunError::Database(DriverError::Unreachable(_)))));
    assert_eq!(watched.failures_left(), 0, "the fault fired");
    assert_eq!(recorder.ids(), std::slice::from_ref(&id), "the rest of the batch waits for the database");
    engine.lapse().await;
    assert_eq!(dispatcher.run_once().await.unwrap().delivered, 2);
    let seen = recorder.rows();
    assert_eq!(seen.iter().map(|row| &row.id).collect::<Vec<_>>(), [&id, &id, &behind]);
    assert_eq!(
        (&seen[0].payload, seen[0].created_at_us, seen[0].attempts + 1),
        (&seen[1].payload, seen[1].created_at_us, seen[1].attempts)
    );
}

async fn a_statement_that_has_to_give_way_is_sent_again(engine: &Engine) {
    engine.fill(3).await;
    let (watched, recorder) = (Watched::new(&engine.driver), Recorder::taking());
    let driver: std::sync::Arc<dyn Driver> = watched.clone();
    watched.fail("UPDATE", 7, DriverError::Contended { code: "1213".into() });
    assert_eq!(dispatcher(&driver, &recorder).run_once().await.unwrap().delivered, 3);
    assert_eq!(watched.failures_left(), 0);
    engine.fill(1).await;
    watched.fail("UPDATE", 8, DriverError::Contended { code: "1213".into() });
    assert!(dispatcher(&driver, &recorder).run_once().await.is_err(), "but not for ever");
}

async fn a_database_that_is_down_is_an_error_and_no_attempt(engine: &Engine) {
    let ids = engine.fill(2).await;
    let (watched, recorder) = (Watched::new(&engine.driver), Recorder::taking());
    let driver: std::sync::Arc<dyn Driver> = watched.clone();
    let dispatcher = dispatcher(&driver, &recorder);
    watched.fail("", 1, DriverError::Unreachable("told to"));
    assert!(dispatcher.run_once().await.is_err());
    assert_eq!(watched.polls.load(Ordering::SeqCst), 1);
    assert_eq!(engine.standing(&ids[0]).await.attempts, 0);
    assert_eq!(dispatcher.run_once().await.unwrap().delivered, 2, "it goes on by itself");
}

async fn a_table_that_is_missing_is_said_so(engine: &Engine) {
    engine.table().unmigrate(false).await.unwrap();
    let error = dispatcher(&engine.driver, &Recorder::taking()).run_once().await.unwrap_err();
    assert!(matches!(error, RunError::Database(DriverError::Refused { .. })), "{error:?}");
    let mut tx = engine.begin().await;
    let error = tx.write(&crate::Writer::new(), "t", "s3cret").await.unwrap_err();
    assert!(matches!(error, crate::WriteError::Database(DriverError::Refused { .. })), "{error:?}");
    tx.rollback().await;
}

#[tokio::test]
async fn a_server_that_is_not_there_is_unreachable_and_its_url_stays_unsaid() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    for scheme in ["postgres", "mysql"] {
        let driver = crate::connect(&format!("{scheme}://u:s3cret@127.0.0.1:{closed}/d"), 1, false).unwrap();
        let error = driver.fetch("SELECT 1", &[]).await.unwrap_err();
        assert!(matches!(error, DriverError::Unreachable(_)), "{error:?}");
        assert!(error.is_retryable() && !error.to_string().contains("s3cret"));
    }
    for url in ["oracle://u:s3cret@h/d", "postgres://u:s3cret@h:port/d", "s3cret", "mysql://u:s3cret@[h/d"] {
        let error = crate::connect(url, 1, false).err().unwrap().to_string();
        assert!(!error.contains("s3cret"), "{error}");
    }
}

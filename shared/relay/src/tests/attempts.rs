//! Attempts, failures, dead rows.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::engine::Engine;
use super::on_each_engine;
use super::recorder::{Recorder, dispatcher, with_options};
use crate::{DispatchOptions, Dispatcher, PublishError, TABLE};

on_each_engine!(
    an_attempt_is_counted_before_its_publish_and_spends_no_others,
    a_row_that_never_lets_its_process_finish_is_dead_after_its_attempts,
    a_failing_row_waits_longer_each_time_and_is_dead_at_the_maximum,
    a_failed_row_lets_newer_ones_pass,
    an_outage_pauses_the_batch_and_kills_nothing,
    retry_after_is_honoured,
    what_is_hopeless_is_dead_at_once,
    a_malformed_row_is_dead_and_thousands_behind_it_flow,
    a_publisher_that_panics_fails_one_row,
);

/// R10
async fn an_attempt_is_counted_before_its_publish_and_spends_no_others(engine: &Engine) {
    let ids = engine.fill(2).await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let recorder = Recorder::acting({
        let (driver, seen) = (engine.driver.clone(), seen.clone());
        move |row| {
            let (driver, seen) = (driver.clone(), seen.clone());
            Box::pin(async move {
                let spent = format!("SELECT id FROM {TABLE} WHERE attempts = 1 ORDER BY created_at, id");
                let spent = driver.fetch(&spent, &[]).await.unwrap().len();
                seen.lock().unwrap().push(spent);
                assert_eq!(row.attempts, 1);
                Ok(())
            })
        }
    });
    dispatcher(&engine.driver, &recorder).run_once().await.unwrap();
    assert_eq!(*seen.lock().unwrap(), [1, 2], "the second row's was not yet spent");
    assert_eq!(engine.standing(&ids[1]).await.attempts, 1, "once a row");
}

/// R10: dropping the pass in the middle of a publish is what a killed process leaves behind
/// (`process.rs` kills real ones).
async fn a_row_that_never_lets_its_process_finish_is_dead_after_its_attempts(engine: &Engine) {
    let ids = engine.fill(2).await;
    let (begun, mut publishing) = tokio::sync::mpsc::unbounded_channel();
    let poison = ids[0].clone();
    let recorder = Recorder::acting(move |row| {
        let (begun, poison) = (begun.clone(), poison.clone());
        Box::pin(async move {
            if row.id == poison {
                begun.send(()).unwrap();
                std::future::pending::<()>().await;
            }
            Ok(())
        })
    });
    let options = || DispatchOptions { max_attempts: 3, ..DispatchOptions::default() };
    for attempt in 1..=3 {
        let dispatcher = with_options(&engine.driver, &recorder, options());
        tokio::select! {
            report = dispatcher.run_once() => panic!("it can't finish: {report:?}"),
            _ = publishing.recv() => {}
        }
        assert_eq!(engine.standing(&ids[0]).await.attempts, attempt);
        engine.lapse().await;
    }
    assert_eq!(engine.standing(&ids[1]).await.attempts, 0, "its neighbour spent nothing");
    let report = with_options(&engine.driver, &recorder, options()).run_once().await.unwrap();
    assert_eq!((report.dead, report.delivered), (1, 1));
    assert_eq!(recorder.ids().iter().filter(|id| **id == ids[0]).count(), 3, "not published a fourth time");
    let dead = engine.standing(&ids[0]).await;
    assert!(dead.status == "dead" && dead.error.as_ref().unwrap().contains("unfinished 3 times"), "{dead:?}");
}

async fn a_failing_row_waits_longer_each_time_and_is_dead_at_the_maximum(engine: &Engine) {
    let id = engine.write("t", "s3cret").await;
    let recorder =
        Recorder::answering(|_| Err(PublishError::failed(format!("down\0 {}", "x".repeat(9_000)))));
    let told = Arc::new(Mutex::new(Vec::new()));
    let dispatcher = Dispatcher::builder(engine.driver.clone(), recorder.clone())
        .options(DispatchOptions { max_attempts: 4, ..DispatchOptions::default() })
        .on_dead({
            let told = told.clone();
            move |row| {
                told.lock().unwrap().push((row.id.to_owned(), row.topic.map(str::to_owned), row.attempts));
                panic!("a hook's panic is no row's trouble");
            }
        })
        .build()
        .unwrap();
    for (attempt, seconds) in [(1, 2), (2, 4), (3, 8)] {
        let report = dispatcher.run_once().await.unwrap();
        assert_eq!((report.claimed, report.failed, report.dead), (1, 1, 0));
        let row = engine.standing(&id).await;
        assert_eq!((row.status.as_str(), row.attempts, row.owner.as_str()), ("pending", attempt, ""));
        assert!((seconds * 1000 - 1500..=seconds * 1000).contains(&row.lease_ms), "{row:?}");
        assert_eq!(dispatcher.run_once().await.unwrap().claimed, 0, "not before its backoff");
        engine.lapse().await;
    }
    assert!(told.lock().unwrap().is_empty());
    assert_eq!(dispatcher.run_once().await.unwrap().dead, 1);
    assert_eq!(*told.lock().unwrap(), [(id.clone(), Some("t".to_owned()), 4)]);
    let row = engine.standing(&id).await;
    let error = row.error.unwrap();
    assert_eq!((row.status.as_str(), row.attempts, error.len()), ("dead", 4, 1024));
    assert!(error.starts_with("down\u{FFFD} x") && !error.contains("s3cret"));
    engine.lapse().await;
    assert_eq!(dispatcher.run_once().await.unwrap().claimed, 0, "dead is dead");
}

async fn a_failed_row_lets_newer_ones_pass(engine: &Engine) {
    let ids = engine.fill(3).await;
    let bad = ids[0].clone();
    let recorder =
        Recorder::answering(move |row| if row.id == bad { Err(PublishError::failed("no")) } else { Ok(()) });
    let report = dispatcher(&engine.driver, &recorder).run_once().await.unwrap();
    assert_eq!((report.delivered, report.failed), (2, 1));
    assert_eq!(engine.standing(&ids[0]).await.status, "pending");
}

/// An outage is not poison: however long it lasts no row goes dead for it.
async fn an_outage_pauses_the_batch_and_kills_nothing(engine: &Engine) {
    let ids = engine.fill(5).await;
    let recorder = Recorder::answering(|_| Err(PublishError::unavailable("down")));
    let options = DispatchOptions { max_attempts: 2, ..DispatchOptions::default() };
    let dispatcher = with_options(&engine.driver, &recorder, options);
    for seconds in [2, 4, 8, 16] {
        let report = dispatcher.run_once().await.unwrap();
        assert_eq!((report.claimed, report.failed, report.released, report.dead), (5, 1, 4, 0));
        for id in &ids {
            let row = engine.standing(id).await;
            assert_eq!((row.status.as_str(), row.attempts, row.owner.as_str()), ("pending", 0, ""));
            assert!((seconds * 1000 - 1500..=seconds * 1000).contains(&row.lease_ms), "{row:?}");
        }
        engine.lapse().await;
    }
    assert_eq!(recorder.ids().len(), 4, "one row a pass asked whether it is up again");
}

/// R12
async fn retry_after_is_honoured(engine: &Engine) {
    engine.fill(3).await;
    let minute = Duration::from_secs(60);
    for (error, asked) in [
        (PublishError::unavailable("503").retry_after(minute), 1),
        (PublishError::failed("429").retry_after(minute), 3),
    ] {
        let recorder = Recorder::answering(move |_| Err(error.clone()));
        let dispatcher = dispatcher(&engine.driver, &recorder);
        dispatcher.run_once().await.unwrap();
        assert_eq!(recorder.ids().len(), asked);
        let left = engine.rows(&format!("SELECT id FROM {TABLE}")).await;
        for row in left {
            let crate::Cell::Text(id) = &row[0] else { panic!("{row:?}") };
            let lease_ms = engine.standing(id).await.lease_ms;
            assert!((58_000..=60_000).contains(&lease_ms), "{lease_ms}");
        }
        // However often it is asked within that minute.
        for _ in 0..5 {
            assert_eq!(dispatcher.run_once().await.unwrap().claimed, 0);
        }
        engine.lapse().await;
    }
    assert!(
        PublishError::failed("").retry_after(Duration::MAX).retry_after <= Some(crate::RETRY_AFTER_CEILING)
    );
}

async fn what_is_hopeless_is_dead_at_once(engine: &Engine) {
    let id = engine.write("t", "p").await;
    let recorder = Recorder::answering(|_| Err(PublishError::hopeless("never")));
    let report = dispatcher(&engine.driver, &recorder).run_once().await.unwrap();
    assert_eq!((report.failed, report.dead), (1, 1));
    let row = engine.standing(&id).await;
    assert_eq!((row.status.as_str(), row.attempts, row.error.as_deref()), ("dead", 1, Some("never")));
}

/// R11: the head of the line is unreadable and ten thousand rows wait behind it.
async fn a_malformed_row_is_dead_and_thousands_behind_it_flow(engine: &Engine) {
    let bad = engine.write("t", "p").await;
    engine.exec(&format!("UPDATE {TABLE} SET attempts = -1 WHERE id = '{bad}'")).await;
    let good = engine.fill(10_000).await;
    let recorder = Recorder::taking();
    let report = dispatcher(&engine.driver, &recorder).run_once().await.unwrap();
    assert_eq!((report.claimed, report.delivered, report.dead), (100, 99, 1), "bounded");
    assert_eq!(recorder.ids(), good[..99], "and never published");
    let row = engine.standing(&bad).await;
    assert!(row.status == "dead" && row.error.unwrap().contains("attempts"));
}

async fn a_publisher_that_panics_fails_one_row(engine: &Engine) {
    let ids = engine.fill(2).await;
    let bad = ids[0].clone();
    let recorder = Recorder::answering(move |row| {
        assert!(row.id != bad, "s3cret");
        Ok(())
    });
    let report = dispatcher(&engine.driver, &recorder).run_once().await.unwrap();
    assert_eq!((report.delivered, report.failed), (1, 1));
    let error = engine.standing(&ids[0]).await.error.unwrap();
    assert_eq!(error, "the publisher panicked");
}

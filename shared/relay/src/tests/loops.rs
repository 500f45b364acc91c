//! The loop: started once, woken, shut down.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::engine::{Engine, PATIENCE};
use super::on_each_engine;
use super::recorder::{Recorder, Watched, dispatcher, with_options};
use crate::{DispatchOptions, Driver, DriverError, RunError, StartError, Stopped};

on_each_engine!(
    a_loop_publishes_what_comes_and_started_twice_is_started,
    a_shutdown_finishes_the_row_in_flight_and_gives_back_the_others,
    a_shutdown_is_bounded,
    a_fault_of_the_database_ends_no_loop,
    a_spent_budget_starts_nothing_more,
);

/// Polls that nobody has to wait for.
fn quick() -> DispatchOptions {
    let poll = Duration::from_millis(1);
    DispatchOptions { poll_floor: poll, poll_ceiling: poll, ..DispatchOptions::default() }
}

pub(super) async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let holds = async {
        while !holds().await {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, holds).await.unwrap_or_else(|_| panic!("{what} did not come about"));
}

async fn a_loop_publishes_what_comes_and_started_twice_is_started(engine: &Engine) {
    let recorder = Recorder::taking();
    let dispatcher = with_options(&engine.another_driver(), &recorder, quick());
    dispatcher.start().unwrap();
    dispatcher.start().unwrap();
    assert_eq!(dispatcher.run_once().await, Err(RunError::Started));
    let ids = engine.fill(150).await;
    until("all published", async || recorder.ids().len() >= 150).await;
    engine.write("t", "one more").await;
    until("one more", async || recorder.ids().len() >= 151).await;
    assert_eq!(dispatcher.shutdown(PATIENCE).await, Stopped::Finished);
    assert_eq!(recorder.ids()[..150], ids, "each once, in order: there is one loop");
    assert_eq!(dispatcher.start(), Err(StartError::ShutDown));
    assert_eq!(dispatcher.run_once().await, Err(RunError::ShutDown));
    assert_eq!(engine.count("delivered").await, 151);
}

async fn a_shutdown_finishes_the_row_in_flight_and_gives_back_the_others(engine: &Engine) {
    let ids = engine.fill(10).await;
    let (gate, begun) = (Arc::new(tokio::sync::Semaphore::new(0)), Arc::new(tokio::sync::Notify::new()));
    let recorder = Recorder::acting({
        let (gate, begun) = (gate.clone(), begun.clone());
        move |_| {
            let (gate, begun) = (gate.clone(), begun.clone());
            Box::pin(async move {
                begun.notify_one();
                gate.acquire().await.unwrap().forget();
                Ok(())
            })
        }
    });
    let dispatcher = Arc::new(with_options(&engine.another_driver(), &recorder, quick()));
    dispatcher.start().unwrap();
    begun.notified().await;
    let shutdown = tokio::spawn({
        let dispatcher = dispatcher.clone();
        async move { dispatcher.shutdown(PATIENCE).await }
    });
    until("the stop is asked for", async || dispatcher.start().is_err()).await;
    gate.add_permits(10);
    assert_eq!(shutdown.await.unwrap(), Stopped::Finished);
    assert_eq!(recorder.ids(), ids[..1]);
    for id in &ids[1..] {
        let row = engine.standing(id).await;
        assert_eq!((row.status.as_str(), row.attempts, row.owner.as_str()), ("pending", 0, ""));
        assert!(row.lease_ms <= 0, "due at once: {row:?}");
    }
    assert_eq!(engine.standing(&ids[0]).await.status, "delivered");
}

async fn a_shutdown_is_bounded(engine: &Engine) {
    let id = engine.write("t", "p").await;
    let begun = Arc::new(tokio::sync::Notify::new());
    let recorder = Recorder::acting({
        let begun = begun.clone();
        move |_| {
            let begun = begun.clone();
            Box::pin(async move {
                begun.notify_one();
                std::future::pending().await
            })
        }
    });
    let dispatcher = with_options(&engine.another_driver(), &recorder, quick());
    dispatcher.start().unwrap();
    begun.notified().await;
    assert_eq!(dispatcher.shutdown(Duration::from_millis(1)).await, Stopped::CutOff);
    assert_eq!(dispatcher.shutdown(PATIENCE).await, Stopped::Finished, "it was cut off for good");
    let row = engine.standing(&id).await;
    assert_eq!((row.status.as_str(), row.attempts), ("pending", 1));
}

async fn a_fault_of_the_database_ends_no_loop(engine: &Engine) {
    let (watched, recorder) = (Watched::new(&engine.another_driver()), Recorder::taking());
    let driver: Arc<dyn Driver> = watched.clone();
    watched.fail("SELECT id FROM", 5, DriverError::Unreachable("told to"));
    engine.write("t", "p").await;
    let dispatcher = with_options(&driver, &recorder, quick());
    dispatcher.start().unwrap();
    until("published after the outage", async || !recorder.ids().is_empty()).await;
    assert_eq!(watched.failures_left(), 0);
    assert_eq!(dispatcher.shutdown(PATIENCE).await, Stopped::Finished);
}

async fn a_spent_budget_starts_nothing_more(engine: &Engine) {
    engine.fill(3).await;
    let recorder = Recorder::taking();
    let dispatcher = dispatcher(&engine.driver, &recorder);
    assert_eq!(dispatcher.run_for(Duration::ZERO).await.unwrap().claimed, 0);
    assert!(recorder.ids().is_empty());
    assert_eq!(dispatcher.run_for(PATIENCE).await.unwrap().delivered, 3);
}

mod wake {
    use super::*;

    /// Polls an hour apart: only a wake-up can bring the row in time.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_commit_on_postgres_wakes_the_dispatcher_and_a_lost_connection_does_too() {
        let engine = Engine::postgres().await;
        let (watched, recorder) = (Watched::new(&engine.another_driver()), Recorder::taking());
        let driver: Arc<dyn Driver> = watched.clone();
        let hour = Duration::from_secs(3_600);
        let options = DispatchOptions { poll_floor: hour, poll_ceiling: hour, ..DispatchOptions::default() };
        let dispatcher = with_options(&driver, &recorder, options);
        dispatcher.start().unwrap();
        let polls = || watched.polls.load(Ordering::SeqCst);
        until("the first poll", async || polls() == 1).await;
        engine.write("t", "woken").await;
        until("woken", async || recorder.ids().len() == 1).await;

        // A notification can be missed while the connection is gone: its loss wakes as well.
        let mut tx = engine.begin().await;
        tx.write(&crate::Writer::new().without_wake(), "t", "quiet").await.unwrap();
        tx.commit().await;
        let end = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
                   WHERE datname = current_database() AND query LIKE 'LISTEN%'";
        until("the listener's end", async || engine.int(end).await > 0 || recorder.ids().len() == 2).await;
        until("polled after the loss", async || recorder.ids().len() == 2).await;
        assert_eq!(dispatcher.shutdown(PATIENCE).await, Stopped::Finished);
        engine.close().await;
    }
}

#[test]
fn every_number_out_of_range_is_named_in_one_error() {
    let driver: Arc<dyn Driver> = Arc::new(NoDatabase);
    let options = DispatchOptions {
        batch: 0,
        lease: Duration::from_millis(1),
        max_attempts: 0,
        publish_timeout: Duration::ZERO,
        database_timeout: Duration::ZERO,
        poll_floor: Duration::from_secs(9),
        poll_ceiling: Duration::from_secs(8),
        retention: Some(Duration::MAX),
    };
    let error =
        crate::Dispatcher::builder(driver, Recorder::taking()).options(options).build().err().unwrap();
    assert_eq!(error.offenders().len(), 7, "{error}");
    for name in
        ["batch", "lease", "max_attempts", "publish_timeout", "database_timeout", "poll_floor", "retention"]
    {
        assert!(error.to_string().contains(name), "{name} is missing in {error}");
    }
}

#[test]
fn a_loop_needs_a_runtime() {
    let driver: Arc<dyn Driver> = Arc::new(NoDatabase);
    let dispatcher = dispatcher(&driver, &Recorder::taking());
    assert_eq!(dispatcher.start(), Err(StartError::NoRuntime));
}

struct NoDatabase;

#[async_trait::async_trait]
impl Driver for NoDatabase {
    fn dialect(&self) -> crate::Dialect {
        crate::Dialect::Sqlite
    }

    async fn execute(&self, _: &str, _: &[crate::Param<'_>]) -> Result<u64, DriverError> {
        Err(DriverError::Unreachable("there is none"))
    }

    async fn fetch(&self, _: &str, _: &[crate::Param<'_>]) -> Result<Vec<Vec<crate::Cell>>, DriverError> {
        Err(DriverError::Unreachable("there is none"))
    }
}

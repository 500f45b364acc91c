//! Processes that die: killed at a counted point with work left, or by the row itself. The child is
//! this test binary, told by its environment what to do.

use std::env;
use std::io::Write;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use eventlane_testkit::process::Process;

use super::engine::{Engine, PATIENCE};
use super::on_each_engine;
use super::recorder::{Recorder, dispatcher, with_options};
use crate::{DispatchOptions, Dispatcher, PublishError, Publisher, RelayRow};

const URL: &str = "EVENTLANE_TEST_CHILD_URL";
const HOLD_AFTER: &str = "EVENTLANE_TEST_CHILD_HOLD_AFTER";
const POISON: &str = "EVENTLANE_TEST_CHILD_POISON";

on_each_engine!(
    a_dispatcher_killed_with_work_left_loses_nothing,
    a_row_that_ends_its_process_is_dead_after_its_attempts,
);

/// Says each row it takes; stands still after so many, or aborts on one.
struct Child {
    taken: AtomicUsize,
    hold_after: usize,
    poison: String,
}

#[async_trait]
impl Publisher for Child {
    async fn publish(&self, row: &RelayRow) -> Result<(), PublishError> {
        if row.id == self.poison {
            std::process::abort();
        }
        writeln!(std::io::stdout(), "\ntook {} {}", row.id, row.payload)?;
        if self.taken.fetch_add(1, Ordering::SeqCst) + 1 == self.hold_after {
            writeln!(std::io::stdout(), "holding")?;
            std::future::pending::<()>().await;
        }
        Ok(())
    }
}

/// Not a test: the child's program.
#[tokio::test]
async fn child() {
    let Ok(url) = env::var(URL) else { return };
    let number = |name: &str| env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usize::MAX);
    let poison = env::var(POISON).unwrap_or_default();
    let publisher = Child { taken: AtomicUsize::new(0), hold_after: number(HOLD_AFTER), poison };
    let driver = crate::connect(&url, 2, false).unwrap();
    let options = DispatchOptions { max_attempts: 3, ..DispatchOptions::default() };
    let dispatcher = Dispatcher::builder(driver, Arc::new(publisher)).options(options).build().unwrap();
    let report = dispatcher.run_for(Duration::from_secs(60)).await.unwrap();
    writeln!(std::io::stdout(), "\nended with {} dead", report.dead).unwrap();
}

fn start(engine: &Engine, more: &[(&str, &str)]) -> Process {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "tests::process::child", "--nocapture"]);
    command.env(URL, &engine.url).envs(more.iter().copied());
    Process::start(&mut command)
}

/// Killed between a publish and its mark, three times in a row, with rows left.
async fn a_dispatcher_killed_with_work_left_loses_nothing(engine: &Engine) {
    let ids = engine.fill(30).await;
    let mut taken = Vec::new();
    for _ in 0..3 {
        let mut process = start(engine, &[(HOLD_AFTER, "5")]);
        for _ in 0..5 {
            taken.push(process.line_with("took ", PATIENCE));
        }
        process.line_with("holding", PATIENCE);
        process.kill();
        engine.lapse().await;
    }
    // Four marked of each five; the fifth came again in the next process.
    assert_eq!(engine.count("delivered").await, 12);
    let recorder = Recorder::taking();
    dispatcher(&engine.driver, &recorder).run_once().await.unwrap();
    let rest: Vec<String> =
        recorder.rows().iter().map(|row| format!("took {} {}", row.id, row.payload)).collect();
    assert_eq!(rest.len(), 18);
    taken.extend(rest);
    assert_eq!(taken.len(), 33, "three rows were published twice");
    taken.sort();
    taken.dedup();
    let mut expected: Vec<String> = ids.iter().enumerate().map(|(n, id)| format!("took {id} p{n}")).collect();
    expected.sort();
    assert_eq!(taken, expected, "with the same id and the same bytes");
    assert_eq!(engine.count("delivered").await, 30);
}

/// R10: a restart loop that a row would keep going for ever.
async fn a_row_that_ends_its_process_is_dead_after_its_attempts(engine: &Engine) {
    let ids = engine.fill(3).await;
    for attempt in 1..=3 {
        let ended = start(engine, &[(POISON, &ids[1])]).wait(PATIENCE);
        assert!(!ended.status.success(), "it aborts");
        assert_eq!(engine.standing(&ids[1]).await.attempts, attempt);
        engine.lapse().await;
    }
    let ended = start(engine, &[(POISON, &ids[1])]).wait(PATIENCE);
    assert!(ended.status.success(), "{}", ended.stderr);
    assert!(ended.stdout.iter().any(|line| line.contains("ended with 1 dead")), "{:?}", ended.stdout);
    assert_eq!(engine.standing(&ids[1]).await.status, "dead");
    assert_eq!(engine.count("delivered").await, 2);
    assert_eq!(engine.standing(&ids[2]).await.attempts, 1, "its neighbour spent only its own");
    let options = DispatchOptions { max_attempts: 3, ..DispatchOptions::default() };
    let report = with_options(&engine.driver, &Recorder::taking(), options).run_once().await.unwrap();
    assert_eq!(report.claimed, 0);
}

//! Eight dispatchers on one table: every row is published, never by two owners of one lease at a
//! time. `cargo xtask soak relay` runs it with 50,000 rows and prints the same figures.

use std::collections::HashMap;
use std::env;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::engine::Engine;
use super::on_each_engine;
use super::recorder::{Recorder, with_options};
use crate::{DispatchOptions, RunReport, Writer};

/// Rows of a soak.
const ROWS: &str = "EVENTLANE_SOAK_ROWS";

/// Dispatchers, each with a driver and a pool of its own.
const DISPATCHERS: usize = 8;

on_each_engine!(eight_dispatchers_publish_every_row_and_share_no_lease);

#[derive(Default)]
struct Publishes {
    /// Rows that are being published right now.
    running: Mutex<HashMap<String, ()>>,
    /// How often each row was published; a list, so that no key hides a second time.
    done: Mutex<Vec<String>>,
    overlaps: Mutex<u64>,
}

async fn eight_dispatchers_publish_every_row_and_share_no_lease(engine: &Engine) {
    let rows: usize = env::var(ROWS).ok().map_or(1_000, |rows| rows.parse().unwrap());
    let writing = async {
        // Half of them while the dispatchers are at it.
        let mut ids = engine.fill(rows / 2).await;
        while ids.len() < rows {
            let mut tx = engine.begin().await;
            for _ in 0..(rows - ids.len()).min(50) {
                ids.push(tx.write(&Writer::new(), "t", "p").await.unwrap());
            }
            tx.commit().await;
        }
        ids
    };
    let publishes = Arc::new(Publishes::default());
    let recorder = Recorder::acting({
        let publishes = publishes.clone();
        move |row| {
            let publishes = publishes.clone();
            Box::pin(async move {
                if publishes.running.lock().unwrap().insert(row.id.clone(), ()).is_some() {
                    *publishes.overlaps.lock().unwrap() += 1;
                }
                // Others get their turn in the middle of it.
                tokio::task::yield_now().await;
                publishes.running.lock().unwrap().remove(&row.id);
                publishes.done.lock().unwrap().push(row.id);
                Ok(())
            })
        }
    });
    let started = Instant::now();
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let mut tasks = Vec::new();
    for _ in 0..DISPATCHERS {
        let dispatcher = with_options(&engine.another_driver(), &recorder, DispatchOptions::default());
        let stopped = stopped.clone();
        tasks.push(tokio::spawn(async move {
            let mut total = RunReport::default();
            loop {
                let last = *stopped.borrow();
                let report = dispatcher.run_for(Duration::from_secs(3_600)).await.unwrap();
                total.add(&report);
                if last && report.claimed == 0 {
                    return total;
                }
            }
        }));
    }
    let ids = writing.await;
    stop.send(true).unwrap();
    let mut total = RunReport::default();
    for task in tasks {
        total.add(&task.await.unwrap());
    }
    while engine.count("pending").await > 0 {
        // A claim that another one lost to may leave rows to the end.
        total.add(
            &with_options(&engine.driver, &recorder, DispatchOptions::default()).run_once().await.unwrap(),
        );
    }
    let took = started.elapsed();
    let done = std::mem::take(&mut *publishes.done.lock().unwrap());
    let mut distinct: Vec<&String> = done.iter().collect();
    distinct.sort();
    distinct.dedup();
    println!(
        "{}: {rows} rows, {DISPATCHERS} dispatchers, {:.1} s, {:.0} rows/s; published {} ({} more than once), \
         claimed {}, lost {}, overlapping {}",
        engine.driver.dialect(),
        took.as_secs_f64(),
        ids.len() as f64 / took.as_secs_f64(),
        done.len(),
        done.len() - distinct.len(),
        total.claimed,
        total.lost,
        publishes.overlaps.lock().unwrap(),
    );
    let mut written: Vec<&String> = ids.iter().collect();
    written.sort();
    assert_eq!(distinct, written, "each at least once, and nothing that wasn't written");
    assert_eq!(*publishes.overlaps.lock().unwrap(), 0);
    assert_eq!(engine.count("delivered").await, i64::try_from(rows).unwrap());
    // Nobody died and no lease lapsed: then once is once.
    if total.lost == 0 {
        assert_eq!(done.len(), rows);
    }
}

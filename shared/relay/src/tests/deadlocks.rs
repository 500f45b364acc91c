//! R16: business transactions at the engine's default isolation beside dispatchers: the engine never
//! has a reason to choose one of them as a deadlock's victim.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::engine::Engine;
use super::on_servers;
use super::recorder::{Recorder, with_options};
use crate::{DispatchOptions, PublishError, Writer};

/// Transactions of each of four writers.
const TRANSACTIONS: i32 = 150;

on_servers!(business_writers_never_see_a_deadlock);

async fn business_writers_never_see_a_deadlock(engine: &Engine) {
    let recorder = Recorder::answering(|row| match row.payload.len() % 3 {
        0 => Err(PublishError::failed("now and then")),
        _ => Ok(()),
    });
    let over = Arc::new(AtomicBool::new(false));
    let mut dispatchers = Vec::new();
    for _ in 0..2 {
        // Small batches and no retention: claims, marks and purges beside the inserts all the time.
        let options =
            DispatchOptions { batch: 20, retention: Some(Duration::ZERO), ..DispatchOptions::default() };
        let dispatcher = with_options(&engine.another_driver(), &recorder, options);
        let over = over.clone();
        dispatchers.push(tokio::spawn(async move {
            let mut claimed = 0;
            while !over.load(Ordering::SeqCst) {
                claimed += dispatcher.run_once().await.unwrap().claimed;
            }
            claimed
        }));
    }
    let mut writers = Vec::new();
    for writer in 0..4 {
        let pool = engine.pool.clone();
        writers.push(tokio::spawn(async move {
            for n in 0..TRANSACTIONS {
                let mut tx = pool.begin().await;
                let id = writer * TRANSACTIONS + n;
                tx.exec(&format!("INSERT INTO business (id, what) VALUES ({id}, 'x')")).await.unwrap();
                for event in 0..4 {
                    tx.write(&Writer::new(), "t", &"x".repeat(event)).await.expect("a deadlock's victim");
                    tokio::task::yield_now().await;
                }
                tx.exec(&format!("UPDATE business SET what = 'y' WHERE id = {id}")).await.unwrap();
                tx.commit().await;
            }
        }));
    }
    for writer in writers {
        writer.await.unwrap();
    }
    over.store(true, Ordering::SeqCst);
    let mut claimed = 0;
    for dispatcher in dispatchers {
        claimed += dispatcher.await.unwrap();
    }
    assert!(claimed > 100, "the dispatchers were at it: {claimed}");
    let writes = i64::from(4 * TRANSACTIONS);
    assert_eq!(engine.int("SELECT COUNT(*) FROM business WHERE what = 'y'").await, writes);
}

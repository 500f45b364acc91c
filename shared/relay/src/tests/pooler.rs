//! The pooler-safe mode: behind pgbouncer, which gives each transaction another session, and with
//! sessions that really are shared.

use std::sync::Arc;

use sqlx::postgres::{PgConnectOptions, PgPoolOptions};

use super::engine::{Engine, PATIENCE, PGBOUNCER, server};
use super::recorder::{Recorder, with_options};
use crate::{DispatchOptions, OutboxTable, PostgresDriver, Writer};

/// `cargo xtask` starts it with two sessions for everyone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn behind_pgbouncer_everything_works_without_a_session() {
    let engine = Engine::postgres().await;
    let url = format!("{}/{}", server(PGBOUNCER), engine.name);
    let options: PgConnectOptions = url.parse().unwrap();
    let app = PgPoolOptions::new().max_connections(6);
    let app = app.connect_with(options.statement_cache_capacity(0).extra_float_digits(None)).await.unwrap();

    let recorder = Recorder::taking();
    let options = || DispatchOptions { batch: 10, ..DispatchOptions::default() };
    let writing = async {
        for n in 0..60 {
            let mut tx = app.begin().await.unwrap();
            Writer::new().write(&mut tx, "t", &n.to_string()).await.unwrap();
            tx.commit().await.unwrap();
        }
    };
    let driver = || Arc::new(PostgresDriver::at(&url, 4).unwrap().pooler_safe());
    let mut dispatchers = Vec::new();
    for _ in 0..3 {
        let driver: Arc<dyn crate::Driver> = driver();
        dispatchers.push(with_options(&driver, &recorder, options()));
    }
    let dispatching = async {
        while recorder.ids().len() < 60 {
            let runs = dispatchers.iter().map(|dispatcher| dispatcher.run_once());
            for report in futures::future::join_all(runs).await {
                report.unwrap();
            }
        }
    };
    let both = async { tokio::join!(writing, dispatching) };
    tokio::time::timeout(PATIENCE, both).await.expect("not all came through");
    let table = OutboxTable::new(driver());
    table.migrate().await.unwrap();
    assert_eq!(table.counts().await.unwrap().pending, 0);
    assert!(table.dead(None, 10).await.unwrap().is_empty());
    let mut ids = recorder.ids();
    ids.sort();
    ids.dedup();
    assert_eq!((ids.len(), engine.count("delivered").await), (60, 60));
    app.close().await;
    engine.close().await;
}

/// The same mode on a session of one's own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_pooler_the_mode_works_on_postgres_too() {
    let engine = Engine::postgres().await;
    engine.fill(5).await;
    let driver = crate::connect(&engine.url, 2, true).unwrap();
    assert!(driver.listen().await.unwrap().is_none(), "nothing is listened for");
    let recorder = Recorder::taking();
    let report = with_options(&driver, &recorder, DispatchOptions::default()).run_once().await.unwrap();
    assert_eq!(report.delivered, 5);
    engine.close().await;
}

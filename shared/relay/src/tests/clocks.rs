//! Clocks: the database's own, whatever a session's time zone, and lock waits that eat a lease.

use std::sync::Arc;
use std::time::Duration;

use sqlx::Executor;
use sqlx::mysql::{MySqlConnectOptions, MySqlPoolOptions};
use sqlx::postgres::PgPoolOptions;

use super::engine::{Engine, PATIENCE, Pool};
use super::recorder::{Recorder, dispatcher, with_options};
use super::{on_each_engine, on_servers};
use crate::store::Store;
use crate::{DispatchOptions, Driver, MySqlDriver, PostgresDriver, TABLE, Writer};

on_each_engine!(leases_and_times_have_fractions_of_a_second, a_machine_whose_clock_is_wrong_changes_nothing,);

/// MySQL rounds what it isn't told to keep: a lease of 1.5 s must not be 1 s or 2 s, and rows of one
/// second stay in order.
async fn leases_and_times_have_fractions_of_a_second(engine: &Engine) {
    let mut ids = Vec::new();
    for n in 0..20 {
        ids.push(engine.write("t", &n.to_string()).await);
    }
    let store = Store::new(&*engine.driver, PATIENCE);
    assert_eq!(store.candidates(100).await.unwrap(), ids);
    store.claim(&ids, "a", Duration::from_millis(61_500)).await.unwrap();
    let rows = store.read_back(&ids, "a").await.unwrap();
    let times: Vec<i64> = rows.into_iter().map(|row| row.unwrap().created_at_us).collect();
    assert!(times.is_sorted());
    assert!(times.iter().any(|time| time % 1_000_000 != 0), "whole seconds alone: {times:?}");
    let exact = match &engine.pool {
        Pool::Postgres(_) => "(EXTRACT(EPOCH FROM lease_until) * 1000)::BIGINT",
        Pool::MariaDb(_) => "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', lease_until) DIV 1000",
        Pool::Sqlite(_) => {
            "CAST(strftime('%s', lease_until) AS INTEGER) * 1000 + CAST(substr(lease_until, 21, 3) AS INTEGER)"
        }
    };
    // Twice by hand, so that a clock on a whole second can't hide what is lost.
    let mut fractions = Vec::new();
    for _ in 0..20 {
        assert_eq!(store.renew(&ids[..1], "a", Duration::from_millis(61_500)).await.unwrap(), 1);
        fractions
            .push(engine.int(&format!("SELECT {exact} FROM {TABLE} WHERE id = '{}'", ids[0])).await % 1000);
        let left = engine.standing(&ids[0]).await.lease_ms;
        assert!((60_000..=61_500).contains(&left), "{left}");
    }
    assert!(fractions.iter().any(|fraction| *fraction != 0), "{fractions:?}");
}

/// Every time is the database's: an event's too, and no statement carries one of ours.
async fn a_machine_whose_clock_is_wrong_changes_nothing(engine: &Engine) {
    let words = engine.driver.dialect().statements();
    let now = match &engine.pool {
        Pool::Postgres(_) => "clock_timestamp()",
        Pool::MariaDb(_) => "UTC_TIMESTAMP(3)",
        Pool::Sqlite(_) => "'now'",
    };
    for statement in [words.insert, words.claim, words.begin, words.renew, words.release, words.failed] {
        assert!(statement.contains(now), "{statement}");
    }
    for statement in [words.candidates, words.purgeable, words.pending] {
        assert!(statement.contains("now()") || statement.contains(now), "{statement}");
    }
}

mod zones {
    use super::*;

    on_servers!(sessions_in_odd_time_zones_agree);

    /// The application at one end of the day, two dispatchers at the other.
    async fn sessions_in_odd_time_zones_agree(engine: &Engine) {
        let (driver, id) = match &engine.pool {
            Pool::Postgres(_) => {
                let pool = |zone: &'static str| {
                    let pool = PgPoolOptions::new().after_connect(move |connection, _| {
                        Box::pin(async move { connection.execute(zone).await.map(drop) })
                    });
                    pool.connect_lazy(&engine.url).unwrap()
                };
                let app = pool("SET TIME ZONE 'America/St_Johns'");
                let mut tx = app.begin().await.unwrap();
                let id = Writer::new().write(&mut tx, "t", "p").await.unwrap();
                tx.commit().await.unwrap();
                let driver: Arc<dyn Driver> =
                    Arc::new(PostgresDriver::new(pool("SET TIME ZONE 'Asia/Kathmandu'")));
                (driver, id)
            }
            Pool::MariaDb(_) => {
                let options =
                    |zone: &str| engine.url.parse::<MySqlConnectOptions>().unwrap().timezone(zone.to_owned());
                let app = MySqlPoolOptions::new().connect_lazy_with(options("-11:30"));
                let mut tx = app.begin().await.unwrap();
                let id = Writer::new().write(&mut tx, "t", "p").await.unwrap();
                // The table's default for writers that leave it out.
                let by_default =
                    format!("INSERT INTO {TABLE} (id, topic, payload) VALUES ('by default', 't', 'p')");
                tx.execute(sqlx::AssertSqlSafe(by_default)).await.unwrap();
                tx.commit().await.unwrap();
                let driver: Arc<dyn Driver> = Arc::new(MySqlDriver::with(options("+12:45"), 2));
                (driver, id)
            }
            Pool::Sqlite(_) => panic!("it has no sessions"),
        };
        let store = Store::new(&*driver, PATIENCE);
        let candidates = store.candidates(10).await.unwrap();
        assert!(candidates.contains(&id), "due at once");
        store.claim(&candidates, "a", Duration::from_secs(30)).await.unwrap();
        let left = engine.standing(&id).await.lease_ms;
        assert!((28_000..=30_000).contains(&left), "{left}");
        let now_us = i64::try_from(std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_micros()).unwrap();
        for row in store.read_back(&candidates, "a").await.unwrap() {
            let row = row.unwrap();
            assert!((now_us - row.created_at_us).abs() < 60_000_000, "{}: {}", row.id, row.created_at_us);
        }
        assert!(
            Store::new(&*engine.driver, PATIENCE).candidates(10).await.unwrap().is_empty(),
            "leased for all"
        );
        let oldest = crate::OutboxTable::new(driver).counts().await.unwrap().oldest_pending_age.unwrap();
        assert!(oldest < Duration::from_secs(60), "{oldest:?}");
    }
}

mod locks {
    use std::sync::Mutex;

    use tokio::task::JoinHandle;

    use super::*;
    use crate::tests::engine::lease_ms;

    on_servers!(
        a_lock_wait_longer_than_the_lease_ends_in_a_fresh_lease,
        a_lock_wait_in_the_claim_ends_in_a_fresh_lease,
    );

    /// Holds a row's lock for 1.5 s of the database's time; returns once it has it.
    async fn hold(pool: Pool, id: String) -> JoinHandle<()> {
        let sleep = match &pool {
            Pool::Postgres(_) => "SELECT pg_sleep(1.5)",
            _ => "DO SLEEP(1.5)",
        };
        let mut tx = pool.begin().await;
        tx.exec(&format!("SELECT id FROM {TABLE} WHERE id = '{id}' FOR UPDATE")).await.unwrap();
        tokio::spawn(async move {
            tx.exec(sleep).await.unwrap();
            tx.rollback().await;
        })
    }

    fn options() -> DispatchOptions {
        DispatchOptions {
            lease: Duration::from_secs(1),
            publish_timeout: PATIENCE,
            ..DispatchOptions::default()
        }
    }

    /// The wait comes between the claim and the row's attempt: the renewal in front of the publish
    /// is worth nothing by the time it returns, so it is renewed again.
    async fn a_lock_wait_longer_than_the_lease_ends_in_a_fresh_lease(engine: &Engine) {
        let ids = engine.fill(2).await;
        let (left, holding) = (Arc::new(Mutex::new(None)), Arc::new(Mutex::new(None)));
        let recorder = Recorder::acting({
            let (pool, driver) = (engine.pool.clone(), engine.another_driver());
            let (second, left, holding) = (ids[1].clone(), left.clone(), holding.clone());
            move |row| {
                let (pool, driver, second) = (pool.clone(), driver.clone(), second.clone());
                let (left, holding) = (left.clone(), holding.clone());
                Box::pin(async move {
                    if row.id == second {
                        let now = lease_ms(&*driver, &second).await;
                        *left.lock().unwrap() = Some(now);
                        // Nobody else can have it while it is published.
                        let other = dispatcher(&driver, &Recorder::taking());
                        assert_eq!(other.run_once().await.unwrap().claimed, 0);
                    } else {
                        let task = hold(pool, second).await;
                        *holding.lock().unwrap() = Some(task);
                    }
                    Ok(())
                })
            }
        });
        let started = std::time::Instant::now();
        let report = with_options(&engine.driver, &recorder, options()).run_once().await.unwrap();
        assert!(started.elapsed() >= Duration::from_millis(1_400), "the lock was waited for");
        let holding = holding.lock().unwrap().take().unwrap();
        holding.await.unwrap();
        assert_eq!((report.delivered, report.lost), (2, 0));
        let left = left.lock().unwrap().unwrap();
        assert!((400..=1000).contains(&left), "published on a lease of {left} ms");
        assert_eq!(engine.standing(&ids[1]).await.attempts, 1, "counted once all the same");
    }

    async fn a_lock_wait_in_the_claim_ends_in_a_fresh_lease(engine: &Engine) {
        let ids = engine.fill(1).await;
        let holding = hold(engine.pool.clone(), ids[0].clone()).await;
        let left = Arc::new(Mutex::new(None));
        let recorder = Recorder::acting({
            let (driver, left) = (engine.another_driver(), left.clone());
            move |row| {
                let (driver, left) = (driver.clone(), left.clone());
                Box::pin(async move {
                    let now = lease_ms(&*driver, &row.id).await;
                    *left.lock().unwrap() = Some(now);
                    Ok(())
                })
            }
        });
        let report = with_options(&engine.driver, &recorder, options()).run_once().await.unwrap();
        holding.await.unwrap();
        assert_eq!((report.delivered, report.lost), (1, 0));
        let left = left.lock().unwrap().unwrap();
        assert!((400..=1000).contains(&left), "published on a lease of {left} ms");
    }
}

//! The relay's dispatcher on PostgreSQL, against a bare loop of the same statements.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use async_trait::async_trait;
use eventlane_relay::{
    Dialect, DispatchOptions, Dispatcher, OutboxTable, PostgresDriver, PublishError, Publisher, RelayRow,
};
use sqlx::postgres::{PgArguments, PgConnectOptions, PgPool};
use sqlx::query::Query;
use sqlx::{AssertSqlSafe, Executor, PgConnection, Postgres, Row};
use tokio::runtime::Runtime;

use crate::ingest::runtime;
use crate::measure::{Rounds, float, rate, rounds, us_each};
use crate::plot::Line;
use crate::report::{Figure, Reach};

/// Where a PostgreSQL listens, `postgres://user@host:port`; `cargo xtask bench` starts one.
const SERVER: &str = "EVENTLANE_TEST_POSTGRES_URL";

const ROWS: usize = 50_000;

const ROUNDS: usize = 5;

const LEASE: Duration = Duration::from_secs(30);

/// No limit here: a run ends when nothing is due.
const BUDGET: Duration = Duration::from_secs(3_600);

pub(crate) fn postgres() -> anyhow::Result<Figure> {
    let measured = with_bench(|bench| bench.measure(ROWS, ROUNDS))?;
    let mut figure = Figure {
        name: "relay_postgres",
        value: 0.0,
        unit: "rows/s",
        ratio: None,
        reach: Reach::AtMost(1.2),
        spread: None,
        note: format!("n/a: no PostgreSQL, {SERVER} is not set"),
    };
    if let Some(measured) = measured {
        figure.value = rate(ROWS, measured.part);
        (figure.ratio, figure.spread) = (Some(measured.ratio), Some(measured.spread));
        figure.note = format!("{:.2?} for 50,000 rows; bare loop {:.2?}", measured.part, measured.limit);
    }
    Ok(figure)
}

/// Microseconds a row by rows.
pub(crate) fn by_rows() -> anyhow::Result<Vec<Line>> {
    let lines = with_bench(|bench| {
        let (mut ours, mut bare) = (Vec::new(), Vec::new());
        for rows in [1_000usize, 10_000, 50_000] {
            let measured = bench.measure(rows, 3)?;
            ours.push((float(rows), us_each(rows, measured.part)));
            bare.push((float(rows), us_each(rows, measured.limit)));
        }
        Ok(vec![Line::new("relay", ours), Line::new("bare loop", bare)])
    });
    Ok(lines?.unwrap_or_default())
}

/// Publishes to nowhere, at once.
struct Nowhere;

#[async_trait]
impl Publisher for Nowhere {
    async fn publish(&self, _: &RelayRow) -> Result<(), PublishError> {
        Ok(())
    }
}

/// A database of its own, and what works in it.
struct Bench {
    runtime: Runtime,
    pool: PgPool,
    dispatcher: Dispatcher,
}

/// Runs this in a database that is dropped afterwards; nothing without a server.
fn with_bench<T>(run: impl FnOnce(&Bench) -> anyhow::Result<T>) -> anyhow::Result<Option<T>> {
    let Ok(server) = std::env::var(SERVER) else { return Ok(None) };
    let (server, name) =
        (server.trim_end_matches('/'), format!("eventlane_bench_{}", uuid::Uuid::new_v4().simple()));
    let runtime = runtime()?;
    let admin =
        runtime.block_on(PgPool::connect(&format!("{server}/postgres"))).context("reach PostgreSQL")?;
    runtime.block_on(admin.execute(AssertSqlSafe(format!("CREATE DATABASE {name}"))))?;
    let bench = runtime.block_on(open(&format!("{server}/{name}")))?;
    let bench = Bench { runtime, pool: bench.0, dispatcher: bench.1 };
    let outcome = run(&bench);
    let dropped = admin.execute(AssertSqlSafe(format!("DROP DATABASE {name} WITH (FORCE)")));
    bench.runtime.block_on(dropped)?;
    outcome.map(Some)
}

async fn open(url: &str) -> anyhow::Result<(PgPool, Dispatcher)> {
    let driver = Arc::new(PostgresDriver::at(url, 2)?);
    OutboxTable::new(driver.clone()).migrate().await?;
    let dispatcher = Dispatcher::builder(driver, Arc::new(Nowhere)).build()?;
    Ok((PgPool::connect_with(url.parse::<PgConnectOptions>()?).await?, dispatcher))
}

impl Bench {
    fn measure(&self, rows: usize, count: usize) -> anyhow::Result<Rounds> {
        let part = || {
            self.fill(rows).expect("rows");
            let started = Instant::now();
            let report = self.runtime.block_on(self.dispatcher.run_for(BUDGET)).expect("a run");
            let took = started.elapsed();
            assert_eq!(report.delivered, rows as u64);
            took
        };
        let limit = || {
            self.fill(rows).expect("rows");
            self.runtime.block_on(async {
                let mut connection = self.pool.acquire().await.expect("a connection");
                let started = Instant::now();
                let delivered = bare(&mut connection).await.expect("a bare loop");
                assert_eq!(delivered, rows);
                started.elapsed()
            })
        };
        let measured = rounds(count, part, limit);
        let left: i64 = self.runtime.block_on(
            sqlx::query_scalar("SELECT count(*) FROM eventlane_relay_outbox WHERE status <> 'delivered'")
                .fetch_one(&self.pool),
        )?;
        ensure!(left == 0, "{left} rows are left behind");
        Ok(measured)
    }

    /// A fresh table with so many rows, as a writer would have put them there.
    fn fill(&self, rows: usize) -> anyhow::Result<()> {
        let insert = "INSERT INTO eventlane_relay_outbox (id, topic, payload) \
             SELECT gen_random_uuid()::TEXT, 'order.created', '{\"order\":' || n || '}' \
             FROM generate_series(1, $1) n";
        self.runtime.block_on(async {
            self.pool.execute("TRUNCATE eventlane_relay_outbox").await?;
            sqlx::query(insert).bind(i32::try_from(rows)?).execute(&self.pool).await?;
            self.pool.execute("ANALYZE eventlane_relay_outbox").await?;
            Ok(())
        })
    }
}

/// The least that could be called a dispatcher: claim, and for each row begin and mark.
async fn bare(connection: &mut PgConnection) -> anyhow::Result<usize> {
    let words = Dialect::Postgres.statements();
    let limit = DispatchOptions::default().batch;
    let lease = i64::try_from(LEASE.as_millis())?;
    let mut delivered = 0;
    loop {
        let candidates =
            sqlx::query(words.candidates).bind(i64::from(limit)).fetch_all(&mut *connection).await?;
        let ids: Vec<String> = candidates.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
        if ids.is_empty() {
            return Ok(delivered);
        }
        let token = uuid::Uuid::new_v4().to_string();
        let claim = Dialect::Postgres.with_ids(words.claim, 2, ids.len());
        with_ids(sqlx::query(AssertSqlSafe(claim)).bind(token.clone()).bind(lease), &ids)
            .execute(&mut *connection)
            .await?;
        let read_back = Dialect::Postgres.with_ids(words.read_back, 1, ids.len());
        let rows = with_ids(sqlx::query(AssertSqlSafe(read_back)).bind(token.clone()), &ids)
            .fetch_all(&mut *connection)
            .await?;
        for row in rows {
            let (id, payload): (String, String) = (row.try_get(0)?, row.try_get(2)?);
            std::hint::black_box(payload);
            let begin = sqlx::query(words.begin).bind(lease).bind(id.clone()).bind(token.clone());
            begin.execute(&mut *connection).await?;
            let mark = sqlx::query(words.delivered).bind(id).bind(token.clone());
            delivered += usize::try_from(mark.execute(&mut *connection).await?.rows_affected())?;
        }
    }
}

fn with_ids<'q>(query: Query<'q, Postgres, PgArguments>, ids: &[String]) -> Query<'q, Postgres, PgArguments> {
    ids.iter().fold(query, |query, id| query.bind(id.clone()))
}

//! A database of a test's own, and the application that uses it.

use std::env;
use std::sync::Arc;
use std::time::Duration;

use sqlx::mysql::{MySqlPool, MySqlPoolOptions};
use sqlx::postgres::{PgPool, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqliteSynchronous};
use sqlx::{AssertSqlSafe, Executor, MySql, Postgres, Sqlite, Transaction};

use crate::{Cell, Dialect, Driver, OutboxTable, SqliteDriver, TABLE, WriteError, Writer};

/// The environment variables that hold the servers' URLs, without a database.
const POSTGRES: &str = "EVENTLANE_TEST_POSTGRES_URL";
const MARIADB: &str = "EVENTLANE_TEST_MARIADB_URL";
pub(super) const PGBOUNCER: &str = "EVENTLANE_TEST_PGBOUNCER_URL";

/// Longest wait for another task or process; it only ends a hang.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Clone)]
pub(super) enum Pool {
    Postgres(PgPool),
    MariaDb(MySqlPool),
    Sqlite(SqlitePool),
}

pub(super) struct Engine {
    pub(super) pool: Pool,
    pub(super) url: String,
    pub(super) name: String,
    /// The dispatchers' driver; `driver()` makes others.
    pub(super) driver: Arc<dyn Driver>,
    _folder: Option<tempfile::TempDir>,
}

/// The caller's transaction, whatever the engine.
pub(super) enum Tx {
    Postgres(Transaction<'static, Postgres>),
    MariaDb(Transaction<'static, MySql>),
    Sqlite(Transaction<'static, Sqlite>),
}

/// A row as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Standing {
    pub(super) status: String,
    pub(super) attempts: i64,
    pub(super) owner: String,
    /// What is left of the lease in ms by the database's clock; negative once it is over.
    pub(super) lease_ms: i64,
    pub(super) error: Option<String>,
}

pub(super) fn server(variable: &str) -> String {
    let url = env::var(variable).ok().filter(|url| !url.is_empty());
    let url = url.unwrap_or_else(|| {
        panic!("{variable} is not set: run the tests through `cargo xtask test`, or export what `cargo xtask local up` prints")
    });
    url.trim_end_matches('/').to_owned()
}

fn database() -> String {
    format!("eventlane_{}", uuid::Uuid::new_v4().simple())
}

impl Engine {
    pub(super) async fn postgres() -> Self {
        let (server, name) = (server(POSTGRES), database());
        let admin = PgPool::connect(&format!("{server}/postgres")).await.unwrap();
        admin
            .execute(AssertSqlSafe(format!("CREATE DATABASE {name} ENCODING 'UTF8' TEMPLATE template0")))
            .await
            .unwrap();
        let url = format!("{server}/{name}");
        let pool = PgPoolOptions::new().max_connections(8).connect(&url).await.unwrap();
        Self::new(Pool::Postgres(pool), url, name, None).await
    }

    pub(super) async fn mariadb() -> Self {
        let (server, name) = (server(MARIADB), database());
        let admin = MySqlPool::connect(&format!("{server}/mysql")).await.unwrap();
        // A character set that can't hold every text: the table must not inherit it.
        admin.execute(AssertSqlSafe(format!("CREATE DATABASE {name} CHARACTER SET latin1"))).await.unwrap();
        let url = format!("{server}/{name}");
        let pool = MySqlPoolOptions::new().max_connections(8).connect(&url).await.unwrap();
        Self::new(Pool::MariaDb(pool), url, name, None).await
    }

    pub(super) async fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("app.db");
        let options = SqliteConnectOptions::new().filename(&path).create_if_missing(true);
        let options = options.journal_mode(SqliteJournalMode::Wal).synchronous(SqliteSynchronous::Normal);
        let pool = SqlitePool::connect_with(options.busy_timeout(Duration::from_secs(30))).await.unwrap();
        let url = format!("sqlite:{}", path.display());
        Self::new(Pool::Sqlite(pool), url, "main".to_owned(), Some(folder)).await
    }

    async fn new(pool: Pool, url: String, name: String, folder: Option<tempfile::TempDir>) -> Self {
        let driver = match &pool {
            // In one process the file's own pool: its pragmas are the application's.
            Pool::Sqlite(pool) => Arc::new(SqliteDriver::new(pool.clone())),
            _ => crate::connect(&url, 4, false).unwrap(),
        };
        let engine = Self { pool, url, name, driver, _folder: folder };
        OutboxTable::new(engine.driver.clone()).migrate().await.unwrap();
        engine.exec("CREATE TABLE business (id INTEGER NOT NULL PRIMARY KEY, what VARCHAR(20))").await;
        engine
    }

    pub(super) async fn close(&self) {
        match &self.pool {
            Pool::Postgres(pool) => {
                let admin = PgPool::connect(&format!("{}/postgres", server(POSTGRES))).await.unwrap();
                pool.close().await;
                let drop = format!("DROP DATABASE {} WITH (FORCE)", self.name);
                admin.execute(AssertSqlSafe(drop)).await.unwrap();
            }
            Pool::MariaDb(pool) => {
                pool.execute(AssertSqlSafe(format!("DROP DATABASE {}", self.name))).await.unwrap();
            }
            Pool::Sqlite(_) => {}
        }
    }

    /// A driver with a pool of its own, as another process has.
    pub(super) fn another_driver(&self) -> Arc<dyn Driver> {
        crate::connect(&self.url, 2, false).unwrap()
    }

    pub(super) fn table(&self) -> OutboxTable {
        OutboxTable::new(self.driver.clone())
    }

    /// Begins a transaction as the application does.
    pub(super) async fn begin(&self) -> Tx {
        self.pool.begin().await
    }

    /// One event in a transaction of its own.
    pub(super) async fn write(&self, topic: &str, payload: &str) -> String {
        let mut tx = self.begin().await;
        let id = tx.write(&Writer::new(), topic, payload).await.unwrap();
        tx.commit().await;
        id
    }

    /// Many events at once, `p0`, `p1`, … on topic `t`.
    pub(super) async fn fill(&self, rows: usize) -> Vec<String> {
        let mut tx = self.begin().await;
        let mut ids = Vec::with_capacity(rows);
        for row in 0..rows {
            ids.push(tx.write(&Writer::new(), "t", &format!("p{row}")).await.unwrap());
        }
        tx.commit().await;
        ids
    }

    pub(super) async fn exec(&self, sql: &str) -> u64 {
        let sql = AssertSqlSafe(sql.to_owned());
        match &self.pool {
            Pool::Postgres(pool) => pool.execute(sql).await.unwrap().rows_affected(),
            Pool::MariaDb(pool) => pool.execute(sql).await.unwrap().rows_affected(),
            Pool::Sqlite(pool) => pool.execute(sql).await.unwrap().rows_affected(),
        }
    }

    /// Texts and integers of an answer.
    pub(super) async fn rows(&self, sql: &str) -> Vec<Vec<Cell>> {
        self.driver.fetch(sql, &[]).await.unwrap()
    }

    pub(super) async fn int(&self, sql: &str) -> i64 {
        match self.rows(sql).await.remove(0).remove(0) {
            Cell::Int(int) => int,
            other => panic!("{sql} gives {other:?}"),
        }
    }

    pub(super) async fn count(&self, status: &str) -> i64 {
        self.int(&format!("SELECT COUNT(*) FROM {TABLE} WHERE status = '{status}'")).await
    }

    pub(super) async fn standing(&self, id: &str) -> Standing {
        let attempts = if let Pool::Postgres(_) = &self.pool { "attempts::BIGINT" } else { "attempts" };
        let lease = left(self.driver.dialect());
        let sql = format!(
            "SELECT status, {attempts}, lease_owner, {lease}, last_error FROM {TABLE} WHERE id = '{id}'"
        );
        let row = <[Cell; 5]>::try_from(self.rows(&sql).await.remove(0)).unwrap();
        match row {
            [Cell::Text(status), Cell::Int(attempts), Cell::Text(owner), Cell::Int(lease_ms), error] => {
                let error = if let Cell::Text(error) = error { Some(error) } else { None };
                Standing { status, attempts, owner, lease_ms, error }
            }
            other => panic!("{other:?}"),
        }
    }

    /// Time passes: every lease and every backoff is over.
    pub(super) async fn lapse(&self) {
        let epoch = match &self.pool {
            Pool::Sqlite(_) => "1970-01-01T00:00:00.000Z",
            _ => "1970-01-01 00:00:00",
        };
        self.exec(&format!("UPDATE {TABLE} SET lease_until = '{epoch}' WHERE status = 'pending'")).await;
    }

    /// Moves a row's time into the past by so many seconds.
    pub(super) async fn age(&self, column: &str, id: &str, seconds: u32) {
        let earlier = match &self.pool {
            Pool::Postgres(_) => format!("clock_timestamp() - {seconds} * INTERVAL '1 second'"),
            Pool::MariaDb(_) => format!("DATE_SUB(UTC_TIMESTAMP(3), INTERVAL {seconds} SECOND)"),
            Pool::Sqlite(_) => format!("strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-{seconds} seconds')"),
        };
        self.exec(&format!("UPDATE {TABLE} SET {column} = {earlier} WHERE id = '{id}'")).await;
    }
}

impl Pool {
    pub(super) async fn begin(&self) -> Tx {
        match self {
            Self::Postgres(pool) => Tx::Postgres(pool.begin().await.unwrap()),
            Self::MariaDb(pool) => Tx::MariaDb(pool.begin().await.unwrap()),
            Self::Sqlite(pool) => Tx::Sqlite(pool.begin().await.unwrap()),
        }
    }
}

/// What is left of a lease, in ms by the database's clock.
fn left(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Postgres => "(EXTRACT(EPOCH FROM lease_until - clock_timestamp()) * 1000)::BIGINT",
        Dialect::MySql => "TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(3), lease_until) DIV 1000",
        _ => "CAST((julianday(lease_until) - julianday('now')) * 86400000 AS INTEGER)",
    }
}

/// What is left of a row's lease, for publishers, which can't borrow the engine.
pub(super) async fn lease_ms(driver: &dyn Driver, id: &str) -> i64 {
    let sql = format!("SELECT {} FROM {TABLE} WHERE id = '{id}'", left(driver.dialect()));
    match driver.fetch(&sql, &[]).await.unwrap()[0][0] {
        Cell::Int(left) => left,
        ref other => panic!("{other:?}"),
    }
}

impl Tx {
    pub(super) async fn write(
        &mut self,
        writer: &Writer,
        topic: &str,
        payload: &str,
    ) -> Result<String, WriteError> {
        match self {
            Self::Postgres(tx) => writer.write(tx, topic, payload).await,
            Self::MariaDb(tx) => writer.write(tx, topic, payload).await,
            Self::Sqlite(tx) => writer.write(tx, topic, payload).await,
        }
    }

    pub(super) async fn exec(&mut self, sql: &str) -> Result<(), sqlx::Error> {
        let sql = AssertSqlSafe(sql.to_owned());
        match self {
            Self::Postgres(tx) => tx.execute(sql).await.map(drop),
            Self::MariaDb(tx) => tx.execute(sql).await.map(drop),
            Self::Sqlite(tx) => tx.execute(sql).await.map(drop),
        }
    }

    pub(super) async fn commit(self) {
        match self {
            Self::Postgres(tx) => tx.commit().await.unwrap(),
            Self::MariaDb(tx) => tx.commit().await.unwrap(),
            Self::Sqlite(tx) => tx.commit().await.unwrap(),
        }
    }

    pub(super) async fn rollback(self) {
        match self {
            Self::Postgres(tx) => tx.rollback().await.unwrap(),
            Self::MariaDb(tx) => tx.rollback().await.unwrap(),
            Self::Sqlite(tx) => tx.rollback().await.unwrap(),
        }
    }
}

//! PostgreSQL through sqlx.

use async_trait::async_trait;
use sqlx::postgres::{PgConnectOptions, PgListener, PgPool};
use sqlx::{Postgres, Transaction};

use super::{AddressError, cells, fault, pool, statements};
use crate::writer::{OutboxTransaction, sealed};
use crate::{Cell, Dialect, Driver, DriverError, OutboxEntry, Param, WAKE_CHANNEL, Wakeups};

/// Statements with more parameters than this hold a list of ids, whose length varies: not worth
/// keeping prepared.
const KEPT_PARAMS: usize = 8;

/// A driver over a pool of PostgreSQL connections.
#[derive(Debug, Clone)]
pub struct PostgresDriver {
    pool: PgPool,
    pooler_safe: bool,
}

impl PostgresDriver {
    /// Over this pool. Wake-ups take one of its connections for good.
    #[must_use]
    pub fn new(pool: PgPool) -> Self {
        Self { pool, pooler_safe: false }
    }

    /// At this URL, `postgres://user:password@host:5432/database`; connected when it is needed.
    ///
    /// # Errors
    /// [`AddressError::Unreadable`].
    pub fn at(url: &str, connections: u32) -> Result<Self, AddressError> {
        let example = "postgres://user:password@host:5432/database?sslmode=verify-full";
        let options: PgConnectOptions = url.parse().map_err(|_| AddressError::Unreadable { example })?;
        // A pooler refuses start-up parameters that it doesn't know; no float is ever read here.
        let options = options.application_name("eventlane-relay").extra_float_digits(None);
        Ok(Self::new(pool(connections.max(2)).connect_lazy_with(options)))
    }

    /// For a pooler that gives each transaction another session (pgbouncer's transaction pooling, RDS
    /// Proxy): each statement is a transaction of its own in which it is prepared without a name, no
    /// session state is relied on, and nothing is listened for.
    #[must_use]
    pub fn pooler_safe(self) -> Self {
        Self { pooler_safe: true, ..self }
    }
}

#[async_trait]
impl Driver for PostgresDriver {
    fn dialect(&self) -> Dialect {
        Dialect::Postgres
    }

    async fn execute(&self, statement: &str, params: &[Param<'_>]) -> Result<u64, DriverError> {
        if self.pooler_safe {
            let mut transaction = self.pool.begin().await.map_err(postgres_fault)?;
            let query = statements!(Postgres, statement, params, false);
            let done = query.execute(&mut *transaction).await.map_err(postgres_fault)?;
            transaction.commit().await.map_err(postgres_fault)?;
            return Ok(done.rows_affected());
        }
        let query = statements!(Postgres, statement, params, params.len() <= KEPT_PARAMS);
        Ok(query.execute(&self.pool).await.map_err(postgres_fault)?.rows_affected())
    }

    async fn fetch(&self, statement: &str, params: &[Param<'_>]) -> Result<Vec<Vec<Cell>>, DriverError> {
        let rows = if self.pooler_safe {
            let mut transaction = self.pool.begin().await.map_err(postgres_fault)?;
            let query = statements!(Postgres, statement, params, false);
            let rows = query.fetch_all(&mut *transaction).await.map_err(postgres_fault)?;
            transaction.commit().await.map_err(postgres_fault)?;
            rows
        } else {
            let query = statements!(Postgres, statement, params, params.len() <= KEPT_PARAMS);
            query.fetch_all(&self.pool).await.map_err(postgres_fault)?
        };
        Ok(cells!(rows, ["TEXT", "CHAR"]))
    }

    async fn listen(&self) -> Result<Option<Box<dyn Wakeups>>, DriverError> {
        if self.pooler_safe {
            return Ok(None);
        }
        let mut listener = PgListener::connect_with(&self.pool).await.map_err(postgres_fault)?;
        listener.listen(WAKE_CHANNEL).await.map_err(postgres_fault)?;
        Ok(Some(Box::new(Notifications(listener))))
    }
}

struct Notifications(PgListener);

#[async_trait]
impl Wakeups for Notifications {
    async fn next(&mut self) -> Result<(), DriverError> {
        // A connection that was lost may have missed some: that wakes too.
        self.0.try_recv().await.map_err(postgres_fault)?;
        // One wake-up is as good as many.
        while self.0.next_buffered().is_some() {}
        Ok(())
    }
}

impl sealed::Sealed for Transaction<'_, Postgres> {}

#[async_trait]
impl OutboxTransaction for Transaction<'_, Postgres> {
    async fn insert(&mut self, entry: &OutboxEntry<'_>, wake: bool) -> Result<(), DriverError> {
        let words = Dialect::Postgres.statements();
        let statement = words.insert_and_wake.filter(|_| wake).unwrap_or(words.insert);
        // Without a name: whether the caller is behind a pooler is not ours to know.
        let query = sqlx::query::<Postgres>(statement).persistent(false);
        let query = query.bind(entry.id().to_owned()).bind(entry.topic().to_owned());
        let query = query.bind(entry.payload().to_owned());
        query.execute(&mut **self).await.map_err(postgres_fault)?;
        Ok(())
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the shape that map_err wants")]
fn postgres_fault(error: sqlx::Error) -> DriverError {
    let code = |error: &dyn sqlx::error::DatabaseError| error.code().unwrap_or_default().into_owned();
    // Serialisation failure, deadlock, lock not available, cancelled by a timeout.
    let contended = |code: &str| ["40001", "40P01", "55P03", "57014"].contains(&code);
    // Connection exceptions, too many connections, shutdowns and start-ups.
    let gone = |code: &str| code.starts_with("08") || code.starts_with("57P") || code == "53300";
    fault(&error, code, contended, gone)
}

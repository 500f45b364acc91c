//! MySQL and MariaDB through sqlx.

use async_trait::async_trait;
use sqlx::mysql::{MySqlConnectOptions, MySqlDatabaseError, MySqlPool};
use sqlx::{Executor, MySql, Transaction};

use super::{AddressError, cells, fault, pool, statements};
use crate::writer::{OutboxTransaction, sealed};
use crate::{Cell, Dialect, Driver, DriverError, OutboxEntry, Param};

/// As for PostgreSQL: lists of ids vary in length.
const KEPT_PARAMS: usize = 8;

/// Texts that compare by their bytes arrive as bytes; what is no UTF-8 in them is unreadable.
const TEXTS: [&str; 4] = ["CHAR", "TEXT", "BINARY", "BLOB"];

/// A driver over its own pool of MySQL or MariaDB connections.
#[derive(Debug, Clone)]
pub struct MySqlDriver {
    pool: MySqlPool,
}

impl MySqlDriver {
    /// At this URL, `mysql://user:password@host:3306/database`; connected when it is needed.
    ///
    /// # Errors
    /// [`AddressError::Unreadable`].
    pub fn at(url: &str, connections: u32) -> Result<Self, AddressError> {
        let example = "mysql://user:password@host:3306/database?ssl-mode=VERIFY_IDENTITY";
        let options: MySqlConnectOptions = url.parse().map_err(|_| AddressError::Unreadable { example })?;
        Ok(Self::with(options, connections))
    }

    /// With these options. The pool is the driver's own, since its sessions read what is committed:
    /// at the engine's default they would lock the gaps between rows, and the deadlock with a business
    /// transaction that inserts there is settled at the cost of either.
    #[must_use]
    pub fn with(options: MySqlConnectOptions, connections: u32) -> Self {
        let pool = pool::<MySql>(connections.max(1)).after_connect(|connection, _| {
            Box::pin(async move {
                connection.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED").await.map(drop)
            })
        });
        Self { pool: pool.connect_lazy_with(options) }
    }
}

#[async_trait]
impl Driver for MySqlDriver {
    fn dialect(&self) -> Dialect {
        Dialect::MySql
    }

    async fn execute(&self, statement: &str, params: &[Param<'_>]) -> Result<u64, DriverError> {
        let query = statements!(MySql, statement, params, params.len() <= KEPT_PARAMS);
        Ok(query.execute(&self.pool).await.map_err(mysql_fault)?.rows_affected())
    }

    async fn fetch(&self, statement: &str, params: &[Param<'_>]) -> Result<Vec<Vec<Cell>>, DriverError> {
        let query = statements!(MySql, statement, params, params.len() <= KEPT_PARAMS);
        let rows = query.fetch_all(&self.pool).await.map_err(mysql_fault)?;
        Ok(cells!(rows, TEXTS))
    }
}

impl sealed::Sealed for Transaction<'_, MySql> {}

#[async_trait]
impl OutboxTransaction for Transaction<'_, MySql> {
    async fn insert(&mut self, entry: &OutboxEntry<'_>, _: bool) -> Result<(), DriverError> {
        let query = sqlx::query::<MySql>(Dialect::MySql.statements().insert);
        let query = query.bind(entry.id().to_owned()).bind(entry.topic().to_owned());
        let query = query.bind(entry.payload().to_owned());
        query.execute(&mut **self).await.map_err(mysql_fault)?;
        Ok(())
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the shape that map_err wants")]
fn mysql_fault(error: sqlx::Error) -> DriverError {
    // The number: SQLSTATE says HY000 for most of them.
    let code = |error: &dyn sqlx::error::DatabaseError| {
        let number = error.try_downcast_ref::<MySqlDatabaseError>().map(MySqlDatabaseError::number);
        number.map_or_else(|| error.code().unwrap_or_default().into_owned(), |number| number.to_string())
    };
    // Deadlock, lock wait timeout, record changed since last read.
    let contended = |code: &str| ["1213", "1205", "1020"].contains(&code);
    // Too many connections, shutting down, killed.
    let gone = |code: &str| ["1040", "1053", "1927"].contains(&code);
    fault(&error, code, contended, gone)
}

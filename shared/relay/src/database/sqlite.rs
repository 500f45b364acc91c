//! SQLite through sqlx.

use std::time::Duration;

use async_trait::async_trait;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePool};
use sqlx::{Sqlite, Transaction};

use super::{AddressError, cells, fault, pool, statements};
use crate::writer::{OutboxTransaction, sealed};
use crate::{Cell, Dialect, Driver, DriverError, OutboxEntry, Param};

/// How long a statement waits for another's transaction.
const BUSY: Duration = Duration::from_secs(10);

/// A driver over a pool of connections to one SQLite file.
#[derive(Debug, Clone)]
pub struct SqliteDriver {
    pool: SqlitePool,
}

impl SqliteDriver {
    /// Over this pool. Its busy timeout decides how long a statement waits for the file.
    #[must_use]
    pub fn new(pool: SqlitePool) -> Self {
        Self { pool }
    }

    /// At this URL, `sqlite:path/to/file.db`. The file is the application's: it isn't made here, and
    /// no pragma of it is changed.
    ///
    /// # Errors
    /// [`AddressError::Unreadable`].
    pub fn at(url: &str) -> Result<Self, AddressError> {
        let example = "sqlite:path/to/file.db";
        let options: SqliteConnectOptions = url.parse().map_err(|_| AddressError::Unreadable { example })?;
        Ok(Self::new(pool(2).connect_lazy_with(options.busy_timeout(BUSY))))
    }
}

#[async_trait]
impl Driver for SqliteDriver {
    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }

    async fn execute(&self, statement: &str, params: &[Param<'_>]) -> Result<u64, DriverError> {
        let query = statements!(Sqlite, statement, params, true);
        Ok(query.execute(&self.pool).await.map_err(sqlite_fault)?.rows_affected())
    }

    async fn fetch(&self, statement: &str, params: &[Param<'_>]) -> Result<Vec<Vec<Cell>>, DriverError> {
        let query = statements!(Sqlite, statement, params, true);
        let rows = query.fetch_all(&self.pool).await.map_err(sqlite_fault)?;
        Ok(cells!(rows, ["TEXT"]))
    }
}

impl sealed::Sealed for Transaction<'_, Sqlite> {}

#[async_trait]
impl OutboxTransaction for Transaction<'_, Sqlite> {
    async fn insert(&mut self, entry: &OutboxEntry<'_>, _: bool) -> Result<(), DriverError> {
        let query = sqlx::query::<Sqlite>(Dialect::Sqlite.statements().insert);
        let query = query.bind(entry.id().to_owned()).bind(entry.topic().to_owned());
        let query = query.bind(entry.payload().to_owned());
        query.execute(&mut **self).await.map_err(sqlite_fault)?;
        Ok(())
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the shape that map_err wants")]
fn sqlite_fault(error: sqlx::Error) -> DriverError {
    let code = |error: &dyn sqlx::error::DatabaseError| error.code().unwrap_or_default().into_owned();
    // The low byte of an extended code is its kind: 5 is busy, 6 locked.
    let contended = |code: &str| code.parse::<u32>().is_ok_and(|code| matches!(code & 0xFF, 5 | 6));
    fault(&error, code, contended, |_| false)
}

//! The databases that are spoken to through sqlx.

#[cfg(feature = "mysql")]
mod mysql;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "sqlite")]
mod sqlite;

use std::sync::Arc;
use std::time::Duration;

#[cfg(feature = "mysql")]
pub use mysql::MySqlDriver;
#[cfg(feature = "postgres")]
pub use postgres::PostgresDriver;
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteDriver;

use crate::{Driver, DriverError};

/// Longest wait for a connection of the pool.
const ACQUIRE: Duration = Duration::from_secs(5);

/// A connection that has rested this long is asked before it is used again: servers and what stands
/// between close idle ones. Asking before each statement would double the round trips.
const RESTED: Duration = Duration::from_secs(1);

/// What the pools have in common.
pub(crate) fn pool<DB: sqlx::Database>(connections: u32) -> sqlx::pool::PoolOptions<DB> {
    sqlx::pool::PoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(ACQUIRE)
        .test_before_acquire(false)
        .before_acquire(|connection, meta| {
            Box::pin(async move {
                if meta.idle_for >= RESTED {
                    sqlx::Connection::ping(connection).await?;
                }
                Ok(true)
            })
        })
}

/// Why an address is none. Never shows it: it may hold a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// Its scheme is of no database that this build speaks to.
    #[error("the database's URL has to begin with one of {known}")]
    Scheme {
        /// The schemes.
        known: String,
    },
    /// The rest of it can't be read.
    #[error("the database's URL can't be read; it looks like {example}")]
    Unreadable {
        /// What one looks like.
        example: &'static str,
    },
}

/// A driver for the database at this URL, by its scheme. Connections are made when they are needed,
/// `connections` at most.
///
/// `pooler_safe` is for PostgreSQL behind a pooler that gives each transaction another session:
/// nothing is prepared by name, nothing listened for.
///
/// # Errors
/// [`AddressError`].
pub fn connect(url: &str, connections: u32, pooler_safe: bool) -> Result<Arc<dyn Driver>, AddressError> {
    let (scheme, _) = url.split_once(':').unwrap_or((url, ""));
    match scheme {
        #[cfg(feature = "postgres")]
        "postgres" | "postgresql" => {
            let driver = PostgresDriver::at(url, connections)?;
            Ok(Arc::new(if pooler_safe { driver.pooler_safe() } else { driver }))
        }
        #[cfg(feature = "mysql")]
        "mysql" | "mariadb" => Ok(Arc::new(MySqlDriver::at(url, connections)?)),
        #[cfg(feature = "sqlite")]
        "sqlite" => Ok(Arc::new(SqliteDriver::at(url)?)),
        _ => {
            let mut known = Vec::new();
            if cfg!(feature = "postgres") {
                known.push("postgres://");
            }
            if cfg!(feature = "mysql") {
                known.extend(["mysql://", "mariadb://"]);
            }
            if cfg!(feature = "sqlite") {
                known.push("sqlite:");
            }
            let _ = (connections, pooler_safe);
            Err(AddressError::Scheme { known: known.join(", ") })
        }
    }
}

/// What sqlx reports, without a parameter or an address in it. `contended` and `gone` tell the
/// engine's own codes apart.
pub(crate) fn fault(
    error: &sqlx::Error,
    code: impl FnOnce(&dyn sqlx::error::DatabaseError) -> String,
    contended: impl FnOnce(&str) -> bool,
    gone: impl FnOnce(&str) -> bool,
) -> DriverError {
    match error {
        sqlx::Error::Database(error) => {
            let code = code(&**error);
            if contended(&code) {
                DriverError::Contended { code }
            } else if gone(&code) {
                DriverError::Unreachable("the server is closing or full")
            } else {
                DriverError::Refused { code }
            }
        }
        sqlx::Error::Io(_) => DriverError::Unreachable("the connection broke or was refused"),
        sqlx::Error::Tls(_) => DriverError::Unreachable("no TLS with the server"),
        sqlx::Error::PoolTimedOut => DriverError::Unreachable("no connection in time"),
        sqlx::Error::PoolClosed => DriverError::Unreachable("the pool is closed"),
        sqlx::Error::WorkerCrashed => DriverError::Unreachable("the connection's thread ended"),
        sqlx::Error::Protocol(_) => DriverError::Unreachable("the server doesn't keep to the protocol"),
        sqlx::Error::Configuration(_) => DriverError::Unreachable("the connection's settings are wrong"),
        _ => DriverError::Answer("not what was asked for"),
    }
}

/// The two calls of a driver over a pool; `$persistent` decides whether a statement is kept prepared.
macro_rules! statements {
    ($database:ty, $statement:expr, $params:expr, $persistent:expr) => {{
        // The text is one of this crate's statements; values are bound, never written into it.
        let text = sqlx::AssertSqlSafe($statement.to_owned());
        let mut query = sqlx::query::<$database>(text).persistent($persistent);
        for param in $params {
            query = match param {
                $crate::Param::Text(text) => query.bind((*text).to_owned()),
                $crate::Param::Int(int) => query.bind(*int),
            };
        }
        query
    }};
}

/// An answer's rows as cells; `$texts` are the names of the types that hold text.
macro_rules! cells {
    ($rows:expr, $texts:expr) => {{
        use sqlx::{Column, Row, TypeInfo, ValueRef};
        $rows
            .iter()
            .map(|row| {
                row.columns()
                    .iter()
                    .map(|column| {
                        let Ok(value) = row.try_get_raw(column.ordinal()) else {
                            return $crate::Cell::Unreadable;
                        };
                        if value.is_null() {
                            return $crate::Cell::Null;
                        }
                        let name = value.type_info().name().to_ascii_uppercase();
                        if name.contains("INT") {
                            let int = row.try_get_unchecked::<i64, _>(column.ordinal());
                            return int.map_or($crate::Cell::Unreadable, $crate::Cell::Int);
                        }
                        if $texts.iter().any(|text| name.contains(text)) {
                            let text = row.try_get_unchecked::<String, _>(column.ordinal());
                            return text.map_or($crate::Cell::Unreadable, $crate::Cell::Text);
                        }
                        $crate::Cell::Unreadable
                    })
                    .collect()
            })
            .collect()
    }};
}

pub(crate) use {cells, statements};

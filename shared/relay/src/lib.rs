//! The transactional outbox for services: an event is written in the same database transaction as
//! the row it tells of, and a dispatcher brings it to where it belongs, by default the lane's queues.
//!
//! # Guarantees
//! - An event is published if and only if its transaction committed, at least once, always with the
//!   same id and the same bytes.
//! - Bad input is refused before the database is touched: the caller's transaction stays usable.
//! - Any number of dispatchers may run. A row is one dispatcher's at a time, by a token of that very
//!   claim; a mark of one that lost it changes nothing. No lock and no transaction is held while a row
//!   is published.
//! - An attempt is counted right before its publish: a row that ends its process spends its own
//!   attempts and nobody else's. One that fails for good is dead, kept with its reason; the others
//!   pass it. While the other side is down no row goes dead for it.
//! - Every time is the database's own. A pending row is never deleted.
//!
//! # Not guaranteed
//! - Order: a failed older row lets newer ones pass, and dispatchers don't wait for each other.
//! - Exactly once: a dispatcher that ends between a publish and its mark publishes again. Readers
//!   dedupe by the id, as the lane's archive does.
//!
//! ```
//! use std::sync::Arc;
//! use eventlane_relay::{Dispatcher, OutboxTable, PublishError, Publisher, RelayRow, SqliteDriver, Writer};
//!
//! struct Print;
//!
//! #[async_trait::async_trait]
//! impl Publisher for Print {
//!     async fn publish(&self, row: &RelayRow) -> Result<(), PublishError> {
//!         println!("{} on {}", row.id, row.topic);
//!         Ok(())
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! let options = sqlx::sqlite::SqliteConnectOptions::new().filename(folder.path().join("app.db"));
//! let pool = sqlx::SqlitePool::connect_with(options.create_if_missing(true)).await?;
//! let driver = Arc::new(SqliteDriver::new(pool.clone()));
//! OutboxTable::new(driver.clone()).migrate().await?;
//!
//! let mut transaction = pool.begin().await?;
//! let id = Writer::new().write(&mut transaction, "order.created", r#"{"order":7}"#).await?;
//! transaction.commit().await?;
//!
//! let report = Dispatcher::builder(driver, Arc::new(Print)).build()?.run_once().await?;
//! assert_eq!((report.claimed, report.delivered, report.failed), (1, 1, 0));
//! # assert_eq!(id.len(), 36);
//! # Ok(())
//! # }
//! ```

mod batch;
#[cfg(any(feature = "postgres", feature = "mysql", feature = "sqlite"))]
mod database;
mod dialect;
mod dispatcher;
mod driver;
mod entry;
mod error;
mod halt;
mod lane;
mod metrics;
mod options;
mod pace;
mod publish;
mod row;
mod run;
mod store;
mod table;
#[cfg(test)]
#[cfg(all(feature = "postgres", feature = "mysql", feature = "sqlite"))]
mod tests;
mod writer;

#[cfg(feature = "mysql")]
pub use database::MySqlDriver;
#[cfg(feature = "postgres")]
pub use database::PostgresDriver;
#[cfg(feature = "sqlite")]
pub use database::SqliteDriver;
#[cfg(any(feature = "postgres", feature = "mysql", feature = "sqlite"))]
pub use database::{AddressError, connect};
pub use dialect::{Dialect, Statements, TABLE, UnknownDialect, WAKE_CHANNEL};
pub use dispatcher::{DeadHook, DeadRow, Dispatcher, DispatcherBuilder, Stopped};
pub use driver::{Cell, Driver, Param, Wakeups};
pub use entry::{OutboxEntry, PAYLOAD_BYTES, TOPIC_BYTES};
pub use error::{DriverError, EntryError, MigrateError, OptionsError, RunError, StartError, WriteError};
pub use lane::{LaneFault, LanePublisher, LaneTopics, TopicsError, lane_payload};
pub use metrics::{MetricsHook, RelayMetrics, RunReport};
pub use options::DispatchOptions;
pub use publish::{PublishError, Publisher, RETRY_AFTER_CEILING};
pub use row::RelayRow;
pub use table::{DeadEntry, OutboxCounts, OutboxTable};
pub use writer::{OutboxTransaction, Writer};

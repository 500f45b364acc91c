//! The writer: one row inside the caller's own transaction, both or neither.

use std::sync::Arc;

use async_trait::async_trait;

use crate::{DriverError, EntryError, LaneTopics, OutboxEntry, WriteError};

/// Writes events into the outbox of the caller's database, in the caller's transaction.
///
/// There is no way to hand it a pool or a bare connection: an event that is committed apart from its
/// row is what an outbox is there to prevent.
///
/// ```compile_fail,E0277
/// # async fn example(pool: sqlx::PgPool) {
/// let mut pool = pool;
/// eventlane_relay::Writer::new().write(&mut pool, "order.created", "{}").await.unwrap();
/// # }
/// ```
///
/// ```compile_fail,E0277
/// # async fn example(connection: sqlx::PgConnection) {
/// let mut connection = connection;
/// eventlane_relay::Writer::new().write(&mut connection, "order.created", "{}").await.unwrap();
/// # }
/// ```
///
/// ```no_run
/// # async fn example(pool: sqlx::PgPool) -> Result<(), Box<dyn std::error::Error>> {
/// let mut transaction = pool.begin().await?;
/// sqlx::query("INSERT INTO orders (id) VALUES ($1)").bind(7).execute(&mut *transaction).await?;
/// let id = eventlane_relay::Writer::new().write(&mut transaction, "order.created", "{}").await?;
/// transaction.commit().await?; // the order and the event, or neither
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Writer {
    topics: Option<Arc<LaneTopics>>,
    wake: bool,
}

impl Writer {
    /// A writer that takes any topic and any text.
    #[must_use]
    pub fn new() -> Self {
        Self { topics: None, wake: true }
    }

    /// A writer that refuses what the lane would never take: an unmapped topic, another shape, a
    /// payload or an identity that the stream refuses.
    #[must_use]
    pub fn for_lane(topics: Arc<LaneTopics>) -> Self {
        Self { topics: Some(topics), wake: true }
    }

    /// Doesn't wake the dispatchers. On PostgreSQL a commit with a notification takes a lock that all
    /// such commits share; under very many writers the poll alone is kinder.
    #[must_use]
    pub fn without_wake(self) -> Self {
        Self { wake: false, ..self }
    }

    /// Writes one event and returns its id.
    ///
    /// Nothing happens until the transaction commits, and nothing at all if it rolls back.
    ///
    /// # Errors
    /// [`WriteError::Entry`] for bad input: the database was not touched, the transaction is as
    /// usable as before. [`WriteError::Database`] for the database's own fault.
    ///
    /// # Cancel safety
    /// A dropped call may have written the row; roll the transaction back.
    pub async fn write<T: OutboxTransaction>(
        &self,
        transaction: &mut T,
        topic: &str,
        payload: &str,
    ) -> Result<String, WriteError> {
        let entry = self.check(topic, payload)?;
        transaction.insert(&entry, self.wake).await.map_err(WriteError::Database)?;
        Ok(entry.into_id())
    }

    /// Checks an event as [`write`](Self::write) does, without writing it; for applications on another
    /// driver, which send [`Statements::insert`](crate::Statements::insert) themselves.
    ///
    /// # Errors
    /// [`EntryError`].
    pub fn check<'a>(&self, topic: &'a str, payload: &'a str) -> Result<OutboxEntry<'a>, EntryError> {
        let entry = OutboxEntry::new(topic, payload)?;
        if let Some(topics) = &self.topics {
            topics.check(topic, payload)?;
        }
        Ok(entry)
    }
}

impl Default for Writer {
    fn default() -> Self {
        Self::new()
    }
}

/// An open transaction of sqlx: `Transaction<'_, Postgres>`, `Transaction<'_, MySql>` or
/// `Transaction<'_, Sqlite>`. Nothing else can be one.
#[diagnostic::on_unimplemented(
    message = "the outbox takes an open transaction, not `{Self}`",
    note = "begin one, write the row and the event in it, and commit both"
)]
#[async_trait]
pub trait OutboxTransaction: sealed::Sealed + Send {
    #[doc(hidden)]
    async fn insert(&mut self, entry: &OutboxEntry<'_>, wake: bool) -> Result<(), DriverError>;
}

pub(crate) mod sealed {
    /// Only this crate says what a transaction is.
    pub trait Sealed {}
}

//! The outbox table as its operator sees it: made, counted, its dead rows looked at and replayed.

use std::sync::Arc;
use std::time::Duration;

use crate::store::Store;
use crate::{Cell, Driver, DriverError, MigrateError, Param};

/// Longest wait for an operator's statement: a migration may wait for a lock.
const PATIENCE: Duration = Duration::from_secs(60);

/// The table of one database.
#[derive(Clone)]
pub struct OutboxTable {
    driver: Arc<dyn Driver>,
}

/// What the table holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutboxCounts {
    /// Rows to be published, those in backoff included.
    pub pending: u64,
    /// How long the oldest of them has waited, by the database's clock.
    pub oldest_pending_age: Option<Duration>,
    /// Rows given up.
    pub dead: u64,
}

/// A dead row, without its payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadEntry {
    /// Its id.
    pub id: String,
    /// Its topic; empty when it can't be read.
    pub topic: String,
    /// Attempts spent.
    pub attempts: i64,
    /// When it was written, unix time in microseconds.
    pub created_at_us: i64,
    /// Why it is dead.
    pub last_error: String,
    /// Characters of its payload.
    pub payload_chars: i64,
}

impl OutboxTable {
    /// The table that this driver reaches.
    #[must_use]
    pub fn new(driver: Arc<dyn Driver>) -> Self {
        Self { driver }
    }

    /// Makes the table and its indexes; made already is fine.
    ///
    /// # Errors
    /// [`MigrateError`]; an encoding other than UTF8 is refused, since it would refuse a text in the
    /// middle of a caller's transaction.
    pub async fn migrate(&self) -> Result<(), MigrateError> {
        let statements = self.driver.dialect().statements();
        if let Some(encoding) = statements.encoding {
            let rows = self.store().fetch(encoding, &[]).await?;
            match rows.first().and_then(|row| row.first()) {
                Some(Cell::Text(name)) if name.eq_ignore_ascii_case("UTF8") => {}
                Some(Cell::Text(name)) => return Err(MigrateError::Encoding { found: name.clone() }),
                _ => return Err(DriverError::Answer("the encoding's name").into()),
            }
        }
        for statement in statements.up {
            self.store().execute(statement, &[]).await?;
        }
        Ok(())
    }

    /// Drops the table and all that is in it; `force` even when rows were never published.
    ///
    /// # Errors
    /// [`MigrateError::Undelivered`] without `force` while rows are pending or dead.
    pub async fn unmigrate(&self, force: bool) -> Result<(), MigrateError> {
        if !force {
            let counts = self.counts().await?;
            if counts.pending + counts.dead > 0 {
                return Err(MigrateError::Undelivered { pending: counts.pending, dead: counts.dead });
            }
        }
        for statement in self.driver.dialect().statements().down {
            self.store().execute(statement, &[]).await?;
        }
        Ok(())
    }

    /// Counts what is pending and dead.
    ///
    /// # Errors
    /// The database's.
    pub async fn counts(&self) -> Result<OutboxCounts, DriverError> {
        let statements = self.driver.dialect().statements();
        let pending = self.store().fetch(statements.pending, &[]).await?;
        let dead = self.store().fetch(statements.dead_count, &[]).await?;
        let age = match pending.first().and_then(|row| row.get(1)) {
            Some(Cell::Int(ms)) => Some(Duration::from_millis(u64::try_from(*ms).unwrap_or(0))),
            _ => None,
        };
        Ok(OutboxCounts { pending: count(&pending)?, oldest_pending_age: age, dead: count(&dead)? })
    }

    /// Dead rows, oldest first; of one topic when it is given.
    ///
    /// # Errors
    /// The database's.
    pub async fn dead(&self, topic: Option<&str>, limit: u32) -> Result<Vec<DeadEntry>, DriverError> {
        let topic = Param::Text(topic.unwrap_or(""));
        let params = [topic, topic, Param::Int(limit.into())];
        let rows = self.store().fetch(self.driver.dialect().statements().dead_list, &params).await?;
        Ok(rows.into_iter().filter_map(entry).collect())
    }

    /// The dead row of this id, if there is one.
    ///
    /// # Errors
    /// The database's.
    pub async fn dead_one(&self, id: &str) -> Result<Option<DeadEntry>, DriverError> {
        if !is_id(id) {
            return Ok(None);
        }
        let one = self.driver.dialect().statements().dead_one;
        let rows = self.store().fetch(one, &[Param::Text(id)]).await?;
        Ok(rows.into_iter().find_map(entry))
    }

    /// Makes a dead row pending, as if it had never been tried; false when no row of this id is dead.
    ///
    /// # Errors
    /// The database's.
    pub async fn replay(&self, id: &str) -> Result<bool, DriverError> {
        if !is_id(id) {
            return Ok(false);
        }
        let replay = self.driver.dialect().statements().replay;
        Ok(self.store().execute(replay, &[Param::Text(id)]).await? > 0)
    }

    fn store(&self) -> Store<'_> {
        Store::new(&*self.driver, PATIENCE)
    }
}

/// A column of ASCII can't be compared with every text, and none of those is an id.
fn is_id(text: &str) -> bool {
    !text.is_empty() && text.len() <= 36 && text.bytes().all(|byte| byte.is_ascii_graphic())
}

fn count(rows: &[Vec<Cell>]) -> Result<u64, DriverError> {
    match rows.first().and_then(|row| row.first()) {
        Some(Cell::Int(count)) => Ok(u64::try_from(*count).unwrap_or(0)),
        _ => Err(DriverError::Answer("a count")),
    }
}

fn entry(cells: Vec<Cell>) -> Option<DeadEntry> {
    let [id, topic, attempts, created, error, chars] = <[Cell; 6]>::try_from(cells).ok()?;
    let Cell::Text(id) = id else { return None };
    let text = |cell| if let Cell::Text(text) = cell { text } else { String::new() };
    let int = |cell| if let Cell::Int(int) = cell { int } else { 0 };
    Some(DeadEntry {
        id,
        topic: text(topic),
        attempts: int(attempts),
        created_at_us: int(created),
        last_error: text(error),
        payload_chars: int(chars),
    })
}

//! The driver: how statements reach a database. Two calls, so that a database that this crate knows
//! only the words of can be spoken to as well.

use async_trait::async_trait;

use crate::{Dialect, DriverError};

/// A statement's parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Param<'a> {
    /// A text.
    Text(&'a str),
    /// A 64-bit integer.
    Int(i64),
}

/// One value of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cell {
    /// A text.
    Text(String),
    /// An integer.
    Int(i64),
    /// NULL.
    Null,
    /// Something else: other bytes, another type. One such value is its row's trouble alone.
    Unreadable,
}

/// A database that holds an outbox.
///
/// Each call is a transaction of its own and is over when it returns: nothing is held between two.
///
/// # Cancel safety
/// A dropped call may have been done; every statement of a dispatcher can bear that.
#[async_trait]
pub trait Driver: Send + Sync {
    /// Whose statements it understands.
    fn dialect(&self) -> Dialect;

    /// Runs a statement and returns how many rows it met (not only those that changed).
    ///
    /// # Errors
    /// [`DriverError`]; `Contended` only if the statement changed nothing.
    async fn execute(&self, statement: &str, params: &[Param<'_>]) -> Result<u64, DriverError>;

    /// Runs a statement and returns its rows.
    ///
    /// # Errors
    /// As [`execute`](Self::execute).
    async fn fetch(&self, statement: &str, params: &[Param<'_>]) -> Result<Vec<Vec<Cell>>, DriverError>;

    /// Starts to listen for writers' wake-ups; none where the engine or the connection has none.
    ///
    /// # Errors
    /// When it has, and can't now: it is asked again later.
    async fn listen(&self) -> Result<Option<Box<dyn Wakeups>>, DriverError> {
        Ok(None)
    }
}

/// Wake-ups as they come. They may be missed; the poll is the floor.
#[async_trait]
pub trait Wakeups: Send {
    /// Waits for the next one.
    ///
    /// # Errors
    /// When the connection is gone; listen anew.
    ///
    /// # Cancel safety
    /// Cancel safe: nothing but the wait is dropped.
    async fn next(&mut self) -> Result<(), DriverError>;
}

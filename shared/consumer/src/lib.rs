//! Delivery: from a stream's queue to the user's handler, at least once, loudly.
//!
//! # Guarantees
//! - One callback is one sub-batch, exactly as enqueued, in append order inside.
//! - `Ok` acks. `Err` or a panic brings the sub-batch again after a growing delay; on the last
//!   attempt it is dead-lettered with the error's text, a hook and a warning.
//! - No message is dead-lettered by us whose callback didn't run, unreadable ones aside.
//! - Messages that were read but not started go back at once.
//!
//! # Not guaranteed
//! - Order across sub-batches; a retried one comes after its successors.
//! - Exactly once: a handler must be idempotent. The shipped archive is, by event id.
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//! use async_trait::async_trait;
//! use eventlane_consumer::{EventConsumer, Handler, HandlerError, SubBatch};
//! use eventlane_contracts::{Registry, Stream, SystemClock};
//! use eventlane_queue::EmbeddedQueue;
//!
//! struct Print;
//!
//! #[async_trait]
//! impl Handler for Print {
//!     async fn handle(&self, batch: &SubBatch) -> Result<(), HandlerError> {
//!         println!("{} events of {}", batch.events.len(), batch.stream);
//!         Ok(())
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! let registry = Registry::define([Stream::json_schema("ping", serde_json::json!({"type": "string"}))])?;
//! let names = registry.streams().map(|stream| stream.name());
//! let queue = EmbeddedQueue::open(&folder.path().join("queue.db"), names, Arc::new(SystemClock))?;
//! let consumer = EventConsumer::builder(Arc::new(registry), Arc::new(queue)).handler("ping", Arc::new(Print)).build()?;
//! let report = consumer.drain_once(Duration::ZERO).await?;
//! assert_eq!((report.delivered, report.empty), (0, false)); // no budget, no read
//! # Ok(())
//! # }
//! ```

mod archive;
mod consumer;
mod deliver;
mod drain;
mod error;
mod halt;
mod halve;
mod handler;
mod host;
mod isolate;
mod lease;
mod ledger;
mod memory;
mod options;
mod pace;
#[cfg(any(test, feature = "proof"))]
pub mod proof;
mod runner;
mod settle;
mod source;
mod sqlite;
mod tally;
#[cfg(test)]
mod tests;
mod work;

pub use archive::{Archive, ArchiveError, EraseIdentity, Erased, SqliteArchive, Stored};
pub use consumer::{DeadLetterHook, DeadLettered, EventConsumer, EventConsumerBuilder};
pub use drain::DrainReport;
pub use error::{DefineError, DrainError, StartError};
pub use handler::{Handler, HandlerError, SubBatch};
pub use host::Stopped;
pub use ledger::{Claim, DONE_FOR, Deduplicated, Ledger, LedgerError, SqliteLedger};
pub use options::{DeliveryOptions, RetryPace};
pub use source::SourceReport;
pub use tally::Tally;

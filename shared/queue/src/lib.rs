//! The queue seam: what the lane asks of a queue, how a batch becomes messages, and a durable
//! backend in one SQLite file.
//!
//! # Guarantees
//! - [`enqueue_streams`] answers for every event, from what the queue confirmed and nothing else.
//! - Every backend passes one [conformance suite](conformance): byte-equal bodies, leases, receive
//!   counts, dead letters that keep the body.
//! - A dead letter is copied first and deleted second: it may come twice, it is never lost.
//!
//! # Not guaranteed
//! - Order across messages, and exactly-once delivery. Order holds inside a message.
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//! use eventlane_contracts::{StreamName, SystemClock};
//! use eventlane_queue::{Consumer, EmbeddedQueue, Message, Producer};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! let stream = StreamName::new("issue_viewed")?;
//! let queue = EmbeddedQueue::open(&folder.path().join("queue.db"), [&stream], Arc::new(SystemClock))?;
//! queue.enqueue(&stream, &[Message::new("{}".to_owned())]).await.remove(0)?;
//! let mut deliveries = queue.receive(&stream, 10, Duration::from_secs(60), Duration::ZERO).await?;
//! let delivery = deliveries.remove(0);
//! assert_eq!(delivery.body, "{}");
//! queue.ack(&stream, vec![delivery.receipt]).await.remove(0).map_err(|unsettled| unsettled.error)?;
//! # Ok(())
//! # }
//! ```

mod attributes;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
mod counts;
mod dead_letter;
mod delivery;
mod embedded;
mod enqueue;
mod error;
mod nudge;
mod seam;
mod split;
#[cfg(test)]
mod tests;
mod traceparent;

pub use attributes::{Attribute, Attributes, Message};
pub use counts::QueueCounts;
pub use dead_letter::{Choice, DeadLetter, DeadLetterPage, Discarded, Redrive, Requeued};
pub use delivery::{Delivery, Lease, Receipt, Unsettled};
pub use embedded::EmbeddedQueue;
pub use enqueue::{EnqueueReport, EventOutcome, StreamEvents, enqueue_streams, enqueue_streams_by};
pub use error::{EnqueueError, OpenError, QueueError};
pub use nudge::{Nudge, NudgeError, nudge_text};
pub use seam::{Consumer, MAX_DELAY, Producer};
pub use split::split;
pub use traceparent::Traceparent;

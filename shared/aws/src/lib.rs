//! Eventlane on AWS: the queue seam over SQS; archive, ledger and consent gate in DynamoDB. The only
//! crate that knows the SDKs.
//!
//! # Guarantees
//! - A message counts as enqueued, and a receipt as settled, only when SQS listed that very entry as
//!   successful. One bad message doesn't cost its neighbours.
//! - Every call ends: [`sdk_config`] sets deadlines below a function's, and a receive's is its wait
//!   and 5 s. A quiet long poll is an empty receive, not a fault.
//! - Nothing is asked at start, and no queue or table is ever created.
//! - A connection that died while a function was frozen costs a call a retry, never its outcome.
//! - Consent is read when it is asked for, from what is written by then; what can't be read is neither
//!   a yes nor a no.
//! - The archive keeps the first of two events with one key; the second changes nothing.
//! - Errors carry code words, never what is in a message.
//!
//! # Not guaranteed
//! - Order, and exactly-once delivery: the queues are standard queues.
//! - That a message whose call timed out isn't queued after all; it may be, and come twice.
//! - Complete listings of dead letters: SQS can't browse, so a page is "at least this many", and
//!   what is looked at is hidden from others for as long as the look takes (30 s if it is cut off).
//!
//! ```no_run
//! use std::sync::Arc;
//! use std::time::Duration;
//! use eventlane_aws::{DynamoArchive, SqsQueue, Timeouts, sdk_config};
//! use eventlane_contracts::{StreamName, SystemClock};
//! use eventlane_queue::{Consumer, Message, Producer};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let config = sdk_config(Timeouts::default()).await;
//! let prefix = "https://sqs.eu-west-1.amazonaws.com/123456789012/eventlane";
//! let queue = SqsQueue::new(&config, prefix, Arc::new(SystemClock))?;
//! let archive = DynamoArchive::new(&config, "eventlane-archive", Arc::new(SystemClock));
//!
//! let stream = StreamName::new("issue_viewed")?;
//! queue.enqueue(&stream, &[Message::new("{}".to_owned())]).await.remove(0)?;
//! let wait = Duration::from_secs(20);
//! for delivery in queue.receive(&stream, 10, Duration::from_secs(60), wait).await? {
//!     println!("{} bytes", delivery.body.len());
//! }
//! # Ok(())
//! # }
//! ```

mod code_word;
mod config;
mod dynamo;
mod sqs;
#[cfg(test)]
mod tests;

pub use config::{Timeouts, sdk_config};
pub use dynamo::{ConsentDefault, DynamoArchive, DynamoConsent, DynamoLedger};
pub use sqs::{NudgeUrlError, SqsNudge, SqsQueue, UrlPrefixError};

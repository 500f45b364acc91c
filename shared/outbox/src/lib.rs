//! The outbox of an app: events are staged durably in SQLite and flushed in batches to the lane's
//! ingest. No AWS, no async runtime.
//!
//! # Guarantees
//! - A returned `append` is on disk under the declared [`Durability`], whatever the network does.
//! - An event leaves the outbox only on the server's explicit, uncontradicted verdict: at least once,
//!   with the same event id each time. No status, redirect, portal page or broken answer deletes one.
//! - What is stored and sent is the caller's own value; numbers and strings stay literal.
//! - Batches go in append order across streams, within the server's limits, framing counted. Memory
//!   is bounded by one batch, whatever the backlog.
//! - Several handles and processes may share a file: all append, one flushes at a time.
//! - No payload, token or claim is in any error, report or log.
//!
//! # Not guaranteed
//! - Exactly once: a crash between the answer and its settling sends the batch again. Consumers
//!   dedupe by event id.
//! - Order at the consumer: a deferred or parked event is overtaken by later ones.
//! - Delivery in bounded time: a server that never takes a stream keeps its events here for ever.
//!
//! ```no_run
//! use eventlane_contracts::{Registry, Stream};
//! use eventlane_outbox::{Credentials, FlushOptions, Flusher, HttpTransport, Outbox, OutboxOptions};
//! use serde_json::json;
//! use std::sync::Arc;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # fn current_token(_refresh: bool) -> String { String::new() }
//! # let schema = json!({"type": "object", "properties": {"celsius": {}}, "additionalProperties": false});
//! let registry = Arc::new(Registry::define([Stream::json_schema("reading_taken", schema)])?);
//! let outbox = Outbox::open("outbox.db", registry, OutboxOptions::default())?;
//! let transport = Arc::new(HttpTransport::new("https://events.example.com/api/events")?);
//! let tokens = Arc::new(|refresh: bool| Ok(Credentials::bearer(current_token(refresh))));
//! let driver = Flusher::new(outbox.clone(), FlushOptions::default(), transport, tokens)?.start()?;
//!
//! outbox.append("reading_taken", &json!({"celsius": 21.5}))?; // on disk now, sent soon
//!
//! let _ = driver.stop(std::time::Duration::from_secs(5));
//! # Ok(())
//! # }
//! ```

mod answer;
mod append;
mod assemble;
mod backoff;

mod driver;
mod encode;
mod error;
mod flush;
mod flusher;
mod http;
mod lane;
mod observe;
mod options;
mod outbox;
mod pass;
mod report;
mod retry_after;
mod schedule;
mod schema;
mod settle;
mod stamp;
#[cfg(test)]
mod tests;
mod token;
mod transport;
mod tuning;
mod verdicts;

pub use append::Appended;
pub use driver::{Driver, Stopped};
pub use error::{AppendError, ConfigError, FlushError, OpenError, StoreError, TokenError, TransportError};
pub use flush::{FlushCore, Post, Task};
pub use flusher::Flusher;
pub use http::HttpTransport;
pub use observe::Subscription;
pub use options::{Durability, OutboxOptions};
pub use outbox::{Outbox, Status};
pub use report::{
    BackoffChange, BatchReport, EventVerdict, FlushReport, LaneFault, PassEnd, REPORT_VERDICTS,
};
pub use schema::{DDL, PARKED, PENDING_COUNT_SQL, PENDING_SQL, SCHEMA_VERSION};
pub use token::{Credentials, TokenSource};
pub use transport::{PostRequest, PostResponse, Transport};
pub use tuning::{
    BackoffTuning, DEFAULT_BACKOFF_BASE, DEFAULT_BACKOFF_CEILING, DEFAULT_BATCH_SIZE, DEFAULT_INTERVAL,
    DEFAULT_LINGER, FlushOptions, StreamTuning,
};

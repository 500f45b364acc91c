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
//! - An event can go with the app's own change ([`Outbox::append_in`]): both or neither.
//! - A damaged file of ours is put aside, never deleted, and [`Outbox::quarantined`] tells; a file that
//!   can't be reached is left alone.
//! - Several handles and processes may share a file: all append, one flushes at a time, and a suspended
//!   one lets go at once ([`Driver::suspend`]).
//! - Events of one account are never sent as another ([`Credentials`]).
//! - No payload, token or claim is in any error, report or log.
//!
//! # Not guaranteed
//! - Exactly once: a crash between the answer and its settling sends the batch again. Consumers
//!   dedupe by event id.
//! - Events in a damaged file: they are in the file put aside, and nobody sends them.
//! - Order at the consumer: a deferred or parked event is overtaken by later ones.
//! - Delivery in bounded time: a server that never takes a stream keeps its events here for ever; it is
//!   tried with two rows a pass, so that a backlog of it costs next to nothing.
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

// Tests run an example of this crate.
#[cfg(test)]
extern crate self as eventlane_outbox;

mod accused;
mod answer;
mod append;
mod append_async;
mod append_in;
mod assemble;
mod authorize;
mod backoff;
mod begin;
mod bounds;
mod count;
mod diagnostics;
mod discard;
mod driver;
mod encode;
mod error;
mod finish;
mod flush;
mod flusher;
mod group;
mod gzip;
mod http;
mod http_fault;
mod http_options;
mod lane;
mod lifecycle;
mod lock;
mod migrate;
mod next_slice;
mod observe;
mod open;
mod options;
mod outbox;
mod park;
mod pass;
mod promote;
mod quarantine;
mod redirect;
mod report;
mod retry_after;
mod rows;
mod running;
mod schedule;
mod schema;
mod settle;
mod stamp;
mod status;
mod streams;
#[cfg(test)]
mod tests;
mod token;
mod transport;
mod tuning;
mod url;
mod verdicts;
mod waiting;
mod why;

pub use append::Appended;
pub use append_async::AppendFuture;
pub use append_in::{APPEND_SQL, PlainAppend};
pub use bounds::{Bound, Bounds};
pub use diagnostics::{Diagnostics, StreamDiagnostics};
pub use discard::Discard;
pub use driver::{Driver, Stopped};
pub use error::{
    AppendError, BackupError, ConfigError, DestroyError, FlushError, OpenError, StoreError, TokenError,
    TransportError,
};
pub use flush::{FlushCore, Post, Task};
pub use flusher::Flusher;
pub use http::HttpTransport;
pub use http_options::HttpOptions;
pub use lifecycle::Pending;
pub use observe::Subscription;
pub use options::{Durability, OutboxOptions};
pub use outbox::Outbox;
pub use quarantine::Quarantined;
pub use report::{
    BackoffChange, BatchReport, EventVerdict, FlushReport, LaneFault, PassEnd, REPORT_VERDICTS,
};
pub use rows::{BEST_GUESS_SQL, OutboxRow, ROWS_SQL, column};
/// The SQLite bindings that [`Outbox::append_in`] takes a transaction of.
pub use rusqlite;
pub use schema::{DDL, META_DDL, PARKED, PENDING_COUNT_SQL, PENDING_SQL, SCHEMA_VERSION, TABLES};
pub use status::Status;
pub use token::{Credentials, TokenSource};
pub use transport::{PostRequest, PostResponse, Transport};
pub use tuning::{
    BackoffTuning, DEFAULT_BACKOFF_BASE, DEFAULT_BACKOFF_CEILING, DEFAULT_BATCH_SIZE, DEFAULT_INTERVAL,
    DEFAULT_LINGER, DEFAULT_TOKEN_TIMEOUT, FlushOptions, StreamTuning,
};
pub use why::Why;

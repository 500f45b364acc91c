//! The promises of the crate, on a real file, with a server whose every answer is scripted.

mod accounts;
mod append;
mod assembly;
mod async_append;
mod bounds;
mod damage;
mod driver;
mod embedded;
mod faults;
mod http;
mod https;
mod journal;
mod lifecycle;
mod model;
mod narrow;
mod pace;
mod process;
mod rows;
mod settle;
mod tuning;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use eventlane_contracts::wire::Batch;
use eventlane_contracts::{Registry, Stream};
use eventlane_testkit::ManualClock;
use eventlane_testkit::scripted_http::ack_all;
use serde_json::json;
use tempfile::TempDir;

use crate::*;

/// A batch as the server saw it. No key: what comes twice is there twice.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) ids: Vec<String>,
    pub(crate) streams: Vec<String>,
    pub(crate) payloads: Vec<String>,
    pub(crate) token: Option<String>,
    pub(crate) bytes: usize,
}

impl Seen {
    fn of(request: PostRequest<'_>) -> Self {
        let batch = Batch::parse(request.body).expect("every body is a batch");
        let field = |get: fn(&eventlane_contracts::wire::Envelope<'_>) -> String| {
            batch.events.iter().map(get).collect::<Vec<_>>()
        };
        Self {
            ids: field(|event| event.event_id.to_string()),
            streams: field(|event| event.stream.to_string()),
            payloads: field(|event| event.payload.get().to_owned()),
            token: request.token.map(str::to_owned),
            bytes: request.body.len(),
        }
    }
}

type Outcome = Result<PostResponse, TransportError>;
type Behaviour = Box<dyn FnMut(&Seen) -> Option<Outcome> + Send>;

/// A server that does as it is told; `None` acks everything.
pub(crate) struct Server {
    seen: Mutex<Vec<Seen>>,
    behaviour: Mutex<Behaviour>,
}

impl Server {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { seen: Mutex::default(), behaviour: Mutex::new(Box::new(|_| None)) })
    }

    pub(crate) fn behave(&self, behaviour: impl FnMut(&Seen) -> Option<Outcome> + Send + 'static) {
        *self.behaviour.lock().unwrap() = Box::new(behaviour);
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// Forgets what it saw, and acks everything from now on.
    pub(crate) fn reset(&self) {
        self.seen.lock().unwrap().clear();
        self.behave(|_| None);
    }

    pub(crate) fn ids(&self) -> Vec<String> {
        self.seen().into_iter().flat_map(|seen| seen.ids).collect()
    }

    pub(crate) fn batches(&self) -> Vec<usize> {
        self.seen().iter().map(|seen| seen.ids.len()).collect()
    }
}

impl Transport for Server {
    fn post(&self, request: PostRequest<'_>) -> Outcome {
        let seen = Seen::of(request);
        self.seen.lock().unwrap().push(seen.clone());
        let outcome = (self.behaviour.lock().unwrap())(&seen);
        outcome.unwrap_or_else(|| Ok(ok(&ack_all(request.body).unwrap())))
    }
}

pub(crate) fn ok(body: &str) -> PostResponse {
    PostResponse { status: 200, retry_after: None, date: None, body: body.as_bytes().to_vec() }
}

pub(crate) fn status(status: u16) -> Option<Outcome> {
    Some(Ok(PostResponse { status, retry_after: None, date: None, body: Vec::new() }))
}

/// An answer with these verdicts, each `(id, status, reason)`.
pub(crate) fn verdicts<'a>(acks: impl IntoIterator<Item = (&'a String, &'a str)>) -> Option<Outcome> {
    let acks: Vec<_> = acks
        .into_iter()
        .map(|(id, status)| json!({"eventId": id, "status": status, "reason": "because"}))
        .collect();
    Some(Ok(ok(&json!({ "acks": acks }).to_string())))
}

/// One outbox with all it needs, in a folder that goes away.
pub(crate) struct Rig {
    pub(crate) outbox: Outbox,
    pub(crate) flusher: Flusher,
    pub(crate) server: Arc<Server>,
    pub(crate) clock: ManualClock,
    pub(crate) folder: TempDir,
}

impl Rig {
    pub(crate) fn new() -> Self {
        Self::with(OutboxOptions::default(), FlushOptions::default())
    }

    pub(crate) fn with(options: OutboxOptions, tuning: FlushOptions) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = ManualClock::default();
        let options = OutboxOptions {
            clock: Arc::new(clock.clone()),
            seed: Some(7),
            durability: Durability::Normal,
            ..options
        };
        let outbox = Outbox::open(folder.path().join("outbox.db"), registry(), options).unwrap();
        let server = Server::new();
        let flusher = flusher(&outbox, tuning, &server);
        Self { outbox, flusher, server, clock, folder }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("outbox.db")
    }

    /// Appends `count` events; their ids in order.
    pub(crate) fn append(&self, stream: &str, count: usize) -> Vec<String> {
        let texts = (0..count).map(|n| format!("{{\"n\":{n}}}"));
        let outcomes = self.outbox.append_all(stream, texts).unwrap();
        outcomes.into_iter().map(|outcome| outcome.unwrap().event_id).collect()
    }

    pub(crate) fn flush(&self) -> FlushReport {
        self.flusher.flush().unwrap()
    }

    /// Every stored row, as `(event_id, attempt_count, next_retry_at_us, last_reason, acked_at_us)`.
    pub(crate) fn rows(&self) -> Vec<StoredRow> {
        let connection = self.sql();
        let mut rows = connection
            .prepare(
                "SELECT event_id, attempt_count, next_retry_at_us, last_reason, acked_at_us \
                 FROM eventlane_outbox ORDER BY seq",
            )
            .unwrap();
        let rows = rows
            .query_map([], |row| {
                Ok(StoredRow {
                    id: row.get(0)?,
                    attempts: row.get(1)?,
                    due_us: row.get(2)?,
                    reason: row.get(3)?,
                    acked_us: row.get(4)?,
                })
            })
            .unwrap();
        rows.map(Result::unwrap).collect()
    }

    pub(crate) fn stored_ids(&self) -> BTreeSet<String> {
        self.rows().into_iter().map(|row| row.id).collect()
    }

    /// A connection of somebody else's.
    pub(crate) fn sql(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.path()).unwrap()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredRow {
    pub(crate) id: String,
    pub(crate) attempts: i64,
    pub(crate) due_us: Option<i64>,
    pub(crate) reason: Option<String>,
    pub(crate) acked_us: Option<i64>,
}

impl StoredRow {
    pub(crate) fn is_untouched(&self) -> bool {
        self.attempts == 0 && self.due_us.is_none() && self.reason.is_none() && self.acked_us.is_none()
    }
}

pub(crate) fn flusher(outbox: &Outbox, tuning: FlushOptions, server: &Arc<Server>) -> Flusher {
    let tokens = |refresh: bool| Ok(Credentials::bearer(if refresh { "T2" } else { "T1" }));
    let transport: Arc<dyn Transport> = Arc::clone(server) as Arc<dyn Transport>;
    Flusher::new(outbox.clone(), tuning, transport, Arc::new(tokens)).unwrap()
}

pub(crate) fn registry() -> Arc<Registry> {
    let closed = || {
        json!({
            "type": "object",
            "properties": {"n": {"type": "integer"}, "s": {"type": "string"}, "v": {}},
            "additionalProperties": false
        })
    };
    let streams = ["a", "b", "c"].map(|name| Stream::json_schema(name, closed()));
    Arc::new(Registry::define(streams).unwrap())
}

/// A number of `eventlane_meta`.
pub(crate) fn meta(sql: &rusqlite::Connection, key: &str) -> i64 {
    sql.query_row("SELECT value FROM eventlane_meta WHERE key = ?1", [key], |row| row.get(0)).unwrap()
}

pub(crate) fn set(ids: &[String]) -> BTreeSet<String> {
    ids.iter().cloned().collect()
}

pub(crate) fn tuned(batch_size: usize) -> FlushOptions {
    FlushOptions { batch_size: Some(batch_size), ..FlushOptions::default() }
}

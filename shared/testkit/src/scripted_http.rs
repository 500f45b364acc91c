//! An ingest that answers as it is told and remembers what it was asked.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::Bytes;
use axum::extract::ConnectInfo;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use eventlane_contracts::wire::{Ack, Answer, Batch, Status};

use crate::server::{Connection, LocalServer};

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Received {
    /// The method.
    pub method: Method,
    /// The path, and the query if there was one.
    pub target: String,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

/// How a request is answered.
#[derive(Debug, Clone)]
pub enum Reply {
    /// A 200 that acks every event of the batch.
    AckAll,
    /// Exactly this.
    Raw {
        /// The status.
        status: u16,
        /// Header names and values.
        headers: Vec<(&'static str, String)>,
        /// The body.
        body: String,
    },
    /// The connection is reset.
    Reset,
}

impl Reply {
    /// A status with nothing else.
    #[must_use]
    pub fn status(status: u16) -> Self {
        Self::Raw { status, headers: Vec::new(), body: String::new() }
    }

    /// A 200 with this body.
    #[must_use]
    pub fn ok(body: impl Into<String>) -> Self {
        Self::Raw { status: 200, headers: Vec::new(), body: body.into() }
    }
}

#[derive(Debug, Default)]
struct State {
    received: Vec<Received>,
    script: VecDeque<Reply>,
}

/// A server on loopback that follows a script, and acks everything once the script has run out.
#[derive(Debug)]
pub struct ScriptedHttp {
    server: LocalServer,
    state: Arc<Mutex<State>>,
}

impl ScriptedHttp {
    /// Starts it.
    ///
    /// # Panics
    /// When no loopback port or no thread can be had.
    #[must_use]
    pub fn start(script: impl IntoIterator<Item = Reply>) -> Self {
        let script = script.into_iter().collect();
        let state = Arc::new(Mutex::new(State { received: Vec::new(), script }));
        let shared = Arc::clone(&state);
        let handler = move |ConnectInfo(connection): ConnectInfo<Connection>,
                            method: Method,
                            uri: Uri,
                            headers: HeaderMap,
                            body: Bytes| {
            let received = Received { method, target: uri.to_string(), headers, body };
            let answer = answer(&shared, received, &connection);
            async move { answer }
        };
        let limit = axum::extract::DefaultBodyLimit::disable();
        Self { server: LocalServer::start(Router::new().fallback(handler).layer(limit)), state }
    }

    /// The URL of the lane's route on it.
    #[must_use]
    pub fn events_url(&self) -> String {
        format!("{}{}", self.server.url(), eventlane_contracts::wire::EVENTS_PATH)
    }

    /// Everything it was asked so far, in order.
    #[must_use]
    pub fn received(&self) -> Vec<Received> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).received.clone()
    }

    /// What is left of the script: 0 proves that every scripted fault was met.
    #[must_use]
    pub fn left(&self) -> usize {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).script.len()
    }
}

fn answer(state: &Mutex<State>, received: Received, connection: &Connection) -> Response {
    let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
    let body = received.body.clone();
    state.received.push(received);
    match state.script.pop_front().unwrap_or(Reply::AckAll) {
        Reply::AckAll => match ack_all(&body) {
            Some(answer) => answer.into_response(),
            None => StatusCode::BAD_REQUEST.into_response(),
        },
        Reply::Raw { status, headers, body } => {
            let mut response = Response::builder().status(status);
            for (name, value) in headers {
                response = response.header(name, value);
            }
            response.body(body.into()).expect("a script with headers that can be sent")
        }
        Reply::Reset => {
            connection.reset();
            StatusCode::OK.into_response()
        }
    }
}

/// The answer that acks a whole batch; `None` when the body is none.
#[must_use]
pub fn ack_all(body: &[u8]) -> Option<String> {
    let batch = Batch::parse(body).ok()?;
    let ack = |event_id| Ack { event_id, status: Status::Acked, reason: None };
    let acks = batch.events.into_iter().map(|event| ack(event.event_id)).collect();
    serde_json::to_string(&Answer { acks }).ok()
}

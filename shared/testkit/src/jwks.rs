//! A source of keys that answers as it is told and counts who asks.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::extract::ConnectInfo;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::server::{Connection, LocalServer};

/// How a fetch is answered.
#[derive(Debug, Clone)]
pub enum KeyAnswer {
    /// A 200 with a JWKS of these keys.
    Keys(Vec<Value>),
    /// A 200 with this body.
    Body(String),
    /// A status, with a `Location` where one is given.
    Status(u16, Option<String>),
    /// Nothing, ever: the connection is taken and stays open.
    Hang,
    /// The connection is reset.
    Reset,
}

#[derive(Debug)]
struct State {
    answer: KeyAnswer,
    fetches: Vec<HeaderMap>,
}

/// A key source on loopback.
#[derive(Debug)]
pub struct FakeJwks {
    server: LocalServer,
    state: Arc<Mutex<State>>,
    held: watch::Sender<bool>,
}

impl FakeJwks {
    /// Starts one that gives this answer until told otherwise.
    ///
    /// # Panics
    /// When no loopback port or no thread can be had.
    #[must_use]
    pub fn start(answer: KeyAnswer) -> Self {
        let state = Arc::new(Mutex::new(State { answer, fetches: Vec::new() }));
        let (held, holds) = watch::channel(false);
        let shared = Arc::clone(&state);
        let handler = move |ConnectInfo(connection): ConnectInfo<Connection>, headers: HeaderMap| {
            let answer = {
                let mut state = lock(&shared);
                state.fetches.push(headers);
                state.answer.clone()
            };
            let mut holds = holds.clone();
            async move {
                // Its sender lives as long as the server.
                let _ = holds.wait_for(|held| !held).await;
                respond(answer, &connection).await
            }
        };
        Self { server: LocalServer::start(Router::new().fallback(handler)), state, held }
    }

    /// Where the keys are.
    #[must_use]
    pub fn url(&self) -> String {
        format!("{}/.well-known/jwks.json", self.server.url())
    }

    /// Answers differently from now on.
    pub fn answer(&self, answer: KeyAnswer) {
        lock(&self.state).answer = answer;
    }

    /// Serves these keys from now on.
    pub fn serve(&self, keys: impl IntoIterator<Item = Value>) {
        self.answer(KeyAnswer::Keys(keys.into_iter().collect()));
    }

    /// Keeps answers back until [`release`](Self::release).
    pub fn hold(&self) {
        self.held.send_replace(true);
    }

    /// Gives the answers that were kept back.
    pub fn release(&self) {
        self.held.send_replace(false);
    }

    /// How often it was asked.
    #[must_use]
    pub fn fetches(&self) -> usize {
        lock(&self.state).fetches.len()
    }

    /// The headers of each fetch, in order.
    #[must_use]
    pub fn headers(&self) -> Vec<HeaderMap> {
        lock(&self.state).fetches.clone()
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn respond(answer: KeyAnswer, connection: &Connection) -> Response {
    match answer {
        KeyAnswer::Keys(keys) => json!({"keys": keys}).to_string().into_response(),
        KeyAnswer::Body(body) => body.into_response(),
        KeyAnswer::Status(status, location) => {
            let mut response = Response::builder().status(status);
            if let Some(location) = location {
                response = response.header("location", location);
            }
            response.body(axum::body::Body::empty()).expect("a status and a location that can be sent")
        }
        KeyAnswer::Hang => std::future::pending().await,
        KeyAnswer::Reset => {
            connection.reset();
            "".into_response()
        }
    }
}

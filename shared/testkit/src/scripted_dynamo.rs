//! A DynamoDB that agrees to everything, records what it was asked, and refuses or waits where a test
//! says so. It keeps no item: what a test wants to know is who called what.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::Value;

use crate::server::LocalServer;

/// Longest that a held call is held: the test has failed by then, and says so itself.
const HELD: Duration = Duration::from_secs(60);

/// A call: an action such as `PutItem`, and a table's name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DynamoCall {
    /// What was asked.
    pub action: String,
    /// The table it was asked of.
    pub table: String,
}

impl DynamoCall {
    /// That call.
    #[must_use]
    pub fn new(action: &str, table: &str) -> Self {
        Self { action: action.to_owned(), table: table.to_owned() }
    }
}

/// The server, its script and its record of calls.
#[derive(Debug)]
pub struct ScriptedDynamo {
    server: LocalServer,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<Script>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Script {
    calls: Vec<DynamoCall>,
    refused: Vec<DynamoCall>,
    held: Vec<(DynamoCall, DynamoCall)>,
}

impl ScriptedDynamo {
    /// Starts it. Every table is there.
    #[must_use]
    pub fn start() -> Self {
        let shared = Arc::new(Shared::default());
        let router = Router::new().fallback(answer).with_state(Arc::clone(&shared));
        Self { server: LocalServer::start(router), shared }
    }

    /// The endpoint, `http://127.0.0.1:PORT`.
    #[must_use]
    pub fn url(&self) -> String {
        self.server.url()
    }

    /// Refuses the next such call, as an invalid one.
    pub fn refuse(&self, call: DynamoCall) {
        self.shared.state().refused.push(call);
    }

    /// Answers the next such call that isn't refused only after another one has come.
    pub fn hold(&self, call: DynamoCall, until: DynamoCall) {
        self.shared.state().held.push((call, until));
    }

    /// Every call so far, in the order they arrived.
    #[must_use]
    pub fn calls(&self) -> Vec<DynamoCall> {
        self.shared.state().calls.clone()
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, Script> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the call, waits where it is held, and tells whether it is refused.
    fn take(&self, call: DynamoCall) -> bool {
        let mut state = self.state();
        let refused = take(&mut state.refused, |refused| *refused == call).is_some();
        // One that is refused is refused at once.
        let held = if refused { None } else { take(&mut state.held, |(held, _)| *held == call) };
        let until = held.map(|(_, until)| until);
        state.calls.push(call);
        let from = state.calls.len();
        self.changed.notify_all();
        if let Some(until) = until {
            let waits = |script: &mut Script| !script.calls[from..].contains(&until);
            drop(self.changed.wait_timeout_while(state, HELD, waits));
        }
        refused
    }
}

fn take<T>(list: &mut Vec<T>, is: impl Fn(&T) -> bool) -> Option<T> {
    let at = list.iter().position(is)?;
    Some(list.remove(at))
}

async fn answer(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: Bytes) -> Response {
    let target = headers.get("x-amz-target").and_then(|value| value.to_str().ok()).unwrap_or_default();
    let action = target.rsplit('.').next().unwrap_or_default();
    let request: Value = serde_json::from_slice(&body).unwrap_or_default();
    let call = DynamoCall::new(action, request["TableName"].as_str().unwrap_or_default());
    // A held call must not hold the others.
    let refused = tokio::task::spawn_blocking(move || shared.take(call)).await.unwrap_or(true);
    let kind = [(header::CONTENT_TYPE, "application/x-amz-json-1.0")];
    if refused {
        let error =
            r#"{"__type":"com.amazonaws.dynamodb.v20120810#ValidationException","message":"scripted"}"#;
        return (StatusCode::BAD_REQUEST, kind, error).into_response();
    }
    (StatusCode::OK, kind, "{}").into_response()
}

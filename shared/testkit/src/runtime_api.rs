//! Lambda's Runtime API for one function process: a test hands in events and gets the answers.
//!
//! The server runs on its own thread; waiting blocks the test, never the function.

use std::collections::HashMap;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::server::LocalServer;

/// A Runtime API; give [`environment`](Self::environment) to the function's process.
#[derive(Debug)]
pub struct RuntimeApi {
    server: LocalServer,
    shared: Arc<Shared>,
    events: UnboundedSender<Event>,
    init_errors: Mutex<Receiver<Value>>,
}

/// What the function said of an event.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// It answered with this JSON.
    Response(Value),
    /// It failed.
    Error {
        /// The header `Lambda-Runtime-Function-Error-Type`.
        kind: String,
        /// The body: `errorType`, `errorMessage`.
        body: Value,
    },
}

/// An event that was handed in.
#[derive(Debug)]
pub struct Invocation {
    id: String,
    outcome: Receiver<Outcome>,
}

#[derive(Debug)]
struct Event {
    id: String,
    deadline_ms: u64,
    body: String,
}

#[derive(Debug)]
struct Shared {
    /// Only one `next` waits at a time, as in Lambda: one environment, one event.
    queue: tokio::sync::Mutex<UnboundedReceiver<Event>>,
    waiting: Mutex<Waiting>,
    init_errors: Sender<Value>,
}

#[derive(Debug, Default)]
struct Waiting {
    handed_in: u64,
    outcomes: HashMap<String, Sender<Outcome>>,
}

impl RuntimeApi {
    /// Starts it.
    #[must_use]
    pub fn start() -> Self {
        let (events, queue) = unbounded_channel();
        let (init_sender, init_errors) = mpsc::channel();
        let shared = Arc::new(Shared {
            queue: tokio::sync::Mutex::new(queue),
            waiting: Mutex::default(),
            init_errors: init_sender,
        });
        let router = Router::new()
            .route("/2018-06-01/runtime/invocation/next", get(next))
            .route("/2018-06-01/runtime/invocation/{id}/response", post(response))
            .route("/2018-06-01/runtime/invocation/{id}/error", post(error))
            .route("/2018-06-01/runtime/init/error", post(init_error))
            .layer(DefaultBodyLimit::disable())
            .with_state(Arc::clone(&shared));
        Self { server: LocalServer::start(router), shared, events, init_errors: Mutex::new(init_errors) }
    }

    /// What Lambda sets for a function, and this server's address.
    #[must_use]
    pub fn environment(&self, function: &str) -> Vec<(&'static str, String)> {
        vec![
            ("AWS_LAMBDA_RUNTIME_API", self.server.address().to_string()),
            ("AWS_LAMBDA_FUNCTION_NAME", function.to_owned()),
            ("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST".to_owned()),
            ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "256".to_owned()),
            ("AWS_LAMBDA_LOG_GROUP_NAME", format!("/aws/lambda/{function}")),
            ("AWS_LAMBDA_LOG_STREAM_NAME", "test".to_owned()),
        ]
    }

    /// Hands in an event that must be done within `left`; counted from now, not from its start.
    #[must_use]
    pub fn invoke(&self, event: &Value, left: Duration) -> Invocation {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let deadline_ms = u64::try_from((now + left).as_millis()).unwrap_or(u64::MAX);
        self.invoke_until(event, deadline_ms)
    }

    /// Hands in an event with a deadline in unix milliseconds, which may have passed.
    ///
    /// # Panics
    /// When the server is gone.
    #[must_use]
    pub fn invoke_until(&self, event: &Value, deadline_ms: u64) -> Invocation {
        let (sender, outcome) = mpsc::channel();
        let id = {
            let mut waiting = self.shared.waiting();
            waiting.handed_in += 1;
            let id = format!("00000000-0000-4000-8000-{:012x}", waiting.handed_in);
            waiting.outcomes.insert(id.clone(), sender);
            id
        };
        let event = Event { id: id.clone(), deadline_ms, body: event.to_string() };
        self.events.send(event).expect("the server runs as long as this");
        Invocation { id, outcome }
    }

    /// What the function said instead of starting.
    ///
    /// # Panics
    /// When it doesn't say so in time.
    #[track_caller]
    pub fn init_error(&self, within: Duration) -> Value {
        let errors = self.init_errors.lock().unwrap_or_else(PoisonError::into_inner);
        errors
            .recv_timeout(within)
            .unwrap_or_else(|_| panic!("no initialisation error came within {within:?}"))
    }
}

impl Invocation {
    /// The request id the function sees.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The function's answer, or nothing when none comes in time.
    #[must_use]
    pub fn outcome(&self, within: Duration) -> Option<Outcome> {
        self.outcome.recv_timeout(within).ok()
    }

    /// The function's response.
    ///
    /// # Panics
    /// When none comes in time, or the function failed.
    #[must_use]
    #[track_caller]
    pub fn response(&self, within: Duration) -> Value {
        match self.outcome(within) {
            Some(Outcome::Response(value)) => value,
            Some(Outcome::Error { kind, body }) => panic!("the function failed: {kind}: {body}"),
            None => panic!("the function did not answer within {within:?}"),
        }
    }
}

impl Shared {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn settle(&self, id: &str, outcome: Outcome) -> Response {
        let Some(sender) = self.waiting().outcomes.remove(id) else {
            let fault =
                r#"{"errorType":"InvalidRequestID","errorMessage":"no such invocation, or answered before"}"#;
            return (StatusCode::BAD_REQUEST, fault).into_response();
        };
        // A test that doesn't wait for the answer is fine.
        let _ = sender.send(outcome);
        (StatusCode::ACCEPTED, r#"{"status":"OK"}"#).into_response()
    }
}

async fn next(State(shared): State<Arc<Shared>>) -> Response {
    let event = shared.queue.lock().await.recv().await;
    let Some(Event { id, deadline_ms, body }) = event else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let headers = [
        ("Content-Type", "application/json".to_owned()),
        ("Lambda-Runtime-Aws-Request-Id", id),
        ("Lambda-Runtime-Deadline-Ms", deadline_ms.to_string()),
        (
            "Lambda-Runtime-Invoked-Function-Arn",
            "arn:aws:lambda:us-east-1:000000000000:function:test".to_owned(),
        ),
        ("Lambda-Runtime-Trace-Id", "Root=1-5759e988-bd862e3fe1be46a994272793;Sampled=0".to_owned()),
    ];
    (headers, body).into_response()
}

async fn response(State(shared): State<Arc<Shared>>, Path(id): Path<String>, body: Bytes) -> Response {
    shared.settle(&id, Outcome::Response(json(&body)))
}

async fn error(
    State(shared): State<Arc<Shared>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    shared.settle(&id, Outcome::Error { kind: kind(&headers), body: json(&body) })
}

async fn init_error(State(shared): State<Arc<Shared>>, body: Bytes) -> Response {
    // The receiver lives as long as the server.
    let _ = shared.init_errors.send(json(&body));
    (StatusCode::ACCEPTED, r#"{"status":"OK"}"#).into_response()
}

fn kind(headers: &HeaderMap) -> String {
    let header = headers.get("Lambda-Runtime-Function-Error-Type").and_then(|value| value.to_str().ok());
    header.unwrap_or_default().to_owned()
}

/// A body that is no JSON is shown as the text it is.
fn json(body: &[u8]) -> Value {
    serde_json::from_slice(body).unwrap_or_else(|_| Value::from(String::from_utf8_lossy(body)))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;

    use serde_json::json;

    use super::*;

    const SOON: Duration = Duration::from_secs(30);
    const BASE: &str = "/2018-06-01/runtime";

    fn ask(api: &RuntimeApi, method: &str, path: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(api.server.address()).unwrap();
        stream.set_read_timeout(Some(SOON)).unwrap();
        let length = body.len();
        write!(
            stream,
            "{method} {BASE}{path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
             Lambda-Runtime-Function-Error-Type: Unhandled\r\nContent-Length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.to_lowercase()
    }

    #[test]
    fn an_event_goes_in_and_its_answer_comes_out_once() {
        let api = RuntimeApi::start();
        let invocation = api.invoke_until(&json!({"a": 1}), 42);
        let event = ask(&api, "GET", "/invocation/next", "");
        assert!(
            event.contains("lambda-runtime-deadline-ms: 42\r\n") && event.ends_with(r#"{"a":1}"#),
            "{event}"
        );
        assert!(event.contains(&format!("lambda-runtime-aws-request-id: {}\r\n", invocation.id())));
        let path = format!("/invocation/{}/response", invocation.id());
        assert!(ask(&api, "POST", &path, "[2]").starts_with("http/1.1 202"));
        assert_eq!(invocation.response(SOON), json!([2]));
        assert!(ask(&api, "POST", &path, "[2]").starts_with("http/1.1 400"));
    }

    #[test]
    fn errors_arrive_with_their_kind() {
        let api = RuntimeApi::start();
        let invocation = api.invoke(&json!(null), SOON);
        ask(&api, "GET", "/invocation/next", "");
        ask(&api, "POST", &format!("/invocation/{}/error", invocation.id()), r#"{"errorMessage":"no"}"#);
        let wanted = Outcome::Error { kind: "Unhandled".to_owned(), body: json!({"errorMessage": "no"}) };
        assert_eq!(invocation.outcome(SOON), Some(wanted));
        ask(&api, "POST", "/init/error", r#"{"errorMessage":"no start"}"#);
        assert_eq!(api.init_error(SOON), json!({"errorMessage": "no start"}));
    }
}

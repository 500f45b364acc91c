//! An HTTP API in front of a function: each request becomes a gateway event (payload 2.0), handed in
//! through the Runtime API; the function's answer becomes the response.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::DefaultBodyLimit;
use axum::http::{HeaderMap, Response, Uri};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use eventlane_testkit::runtime_api::RuntimeApi;
use eventlane_testkit::server::LocalServer;
use serde_json::Value;

use super::{PATIENCE, fixture};

/// What an HTTP API waits for a function.
const TIMEOUT: Duration = Duration::from_secs(29);

/// Bytes of an event that Lambda takes: 6 MB, as its quota has it (6,291,556 in fact).
pub(crate) const LAMBDA_BYTES: usize = 6_291_556;

pub(crate) struct Gateway {
    pub(crate) server: LocalServer,
    events: Arc<Mutex<Vec<usize>>>,
}

impl Gateway {
    /// Bytes of every event so far, those too large for Lambda included.
    pub(crate) fn events(&self) -> Vec<usize> {
        self.events.lock().unwrap().clone()
    }
}

pub(crate) fn start(functions: Arc<RuntimeApi>) -> Gateway {
    let events = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&events);
    let handler = async move |uri: Uri, headers: HeaderMap, body: Bytes| {
        let event = event(uri.path(), &headers, &body);
        let bytes = event.to_string().len();
        seen.lock().unwrap().push(bytes);
        if bytes > LAMBDA_BYTES {
            let body = r#"{"message":"Request Entity Too Large"}"#;
            return Response::builder().status(413).body(Body::from(body)).unwrap();
        }
        let functions = Arc::clone(&functions);
        // The Runtime API's answer is awaited on a thread.
        let answer =
            tokio::task::spawn_blocking(move || functions.invoke(&event, TIMEOUT).response(PATIENCE));
        response(&answer.await.unwrap())
    };
    // A gateway takes 10 MB; what a function takes is looked at above.
    let server = LocalServer::start(Router::new().fallback(handler).layer(DefaultBodyLimit::disable()));
    Gateway { server, events }
}

/// The event of a POST: its body as text, or as base64 when it says that it is encoded.
pub(crate) fn event(path: &str, headers: &HeaderMap, body: &[u8]) -> Value {
    let text = std::fs::read_to_string(fixture("gateway/http-api-v2.json")).unwrap();
    let mut event: Value = serde_json::from_str(&text).unwrap();
    event["rawPath"] = path.into();
    event["requestContext"]["http"]["path"] = path.into();
    for (name, value) in headers {
        if name != "host" {
            event["headers"][name.as_str()] = value.to_str().unwrap().into();
        }
    }
    if headers.contains_key("content-encoding") {
        event["body"] = STANDARD.encode(body).into();
        event["isBase64Encoded"] = true.into();
    } else {
        event["body"] = std::str::from_utf8(body).unwrap().into();
    }
    event
}

fn response(answer: &Value) -> Response<Body> {
    let mut response =
        Response::builder().status(u16::try_from(answer["statusCode"].as_u64().unwrap()).unwrap());
    for (name, value) in answer["headers"].as_object().into_iter().flatten() {
        response = response.header(name, value.as_str().unwrap());
    }
    response.body(answer["body"].as_str().unwrap_or_default().to_owned().into()).unwrap()
}

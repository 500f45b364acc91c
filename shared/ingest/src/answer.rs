//! Answer: one verdict an envelope, in request order; or one message for the whole batch.

use axum::body::Body;
use axum::http::header::{ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, Response, StatusCode};
use eventlane_contracts::wire::{self, Ack, Answer};

use crate::Fault;
use crate::event::{Event, State, Verdict, tag};

/// As the lane's first server answered; clients compare it literally.
const JSON: HeaderValue = HeaderValue::from_static("application/json;charset=utf-8");

/// Seconds to wait before the same batch is sent again.
const RETRY_AFTER_SECONDS: HeaderValue = HeaderValue::from_static("5");

pub(crate) fn verdicts(events: Vec<Event<'_>>) -> Response<Body> {
    let acks = events.into_iter().map(ack).collect();
    json(StatusCode::OK, &Answer { acks })
}

fn ack(event: Event<'_>) -> Ack<'_> {
    let verdict = match event.state {
        State::Judged(verdict) => verdict,
        // Every stage left it open: that must not happen, and if it does, nobody loses an event.
        State::Parsed | State::Stamped(_) => Verdict::deferred(tag::INTERNAL, "internal"),
    };
    Ack { event_id: event.envelope.event_id, status: verdict.status, reason: verdict.reason.map(Into::into) }
}

pub(crate) fn fault(fault: &Fault) -> Response<Body> {
    let mut response = json(fault.status(), &wire::Fault { message: fault.to_string() });
    match fault {
        Fault::MethodNotAllowed(allowed) => {
            response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
        }
        Fault::Unauthorized(_) => {
            response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        // The rest of the body is still on its way, and nobody waits for it.
        Fault::Slow(_) => {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        Fault::KeysUnavailable { retry_after_seconds } => {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(*retry_after_seconds));
        }
        Fault::Unavailable => {
            response.headers_mut().insert(RETRY_AFTER, RETRY_AFTER_SECONDS);
        }
        Fault::TooManyRequests { retry_after } => {
            response.headers_mut().insert(RETRY_AFTER, retry_after.as_secs().into());
        }
        _ => {}
    }
    response
}

/// That this process answers, and in which version. Nothing it depends on is touched.
pub(crate) fn health() -> Response<Body> {
    let mut response = json(StatusCode::OK, &wire::Health::ok(env!("CARGO_PKG_VERSION")));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn json(status: StatusCode, body: &impl serde::Serialize) -> Response<Body> {
    // Structs of texts always serialise.
    let mut response = Response::new(Body::from(serde_json::to_vec(body).unwrap_or_default()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, JSON);
    response
}

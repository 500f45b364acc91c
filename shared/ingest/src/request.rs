//! Request: the routes, and the stages in their order.

use std::any::Any;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Response};
use axum::routing::{get, post};
use eventlane_contracts::Registry;
use eventlane_contracts::wire::{EVENTS_PATH, HEALTH_PATH};
use eventlane_queue::Producer;
use tower_http::catch_panic::CatchPanicLayer;

use crate::body::Encoding;
use crate::{Claims, Fault, Gate, TokenVerifier, answer, auth, body, check, enqueue, gate, parse};

/// What the door needs.
pub struct Ingest {
    /// The streams this server knows.
    pub registry: Arc<Registry>,
    /// Where events go.
    pub producer: Arc<dyn Producer>,
    /// Who decides over single events.
    pub gate: Arc<dyn Gate>,
    /// Who verifies tokens.
    pub tokens: TokenVerifier,
}

/// The router that Lambda and the local lane serve alike. Without a registered stream the route of
/// events doesn't exist; the health route always does.
pub fn router(ingest: Arc<Ingest>) -> Router {
    let health = get(async || answer::health())
        .fallback(async |request: Request| refuse(request, &Fault::MethodNotAllowed("GET, HEAD")).await);
    let mut router = Router::new().route(HEALTH_PATH, health);
    if !ingest.registry.is_empty() {
        let events = post(post_events)
            .fallback(async |request: Request| refuse(request, &Fault::MethodNotAllowed("POST")).await);
        router = router.route(EVENTS_PATH, events);
    }
    router
        .fallback(async |request: Request| refuse(request, &Fault::NotFound).await)
        .with_state(ingest)
        // One event's panic is that event's; this is for one that no event can be blamed for.
        .layer(CatchPanicLayer::custom(|_: Box<dyn Any + Send>| told(&Fault::Internal)))
}

async fn post_events(State(ingest): State<Arc<Ingest>>, request: Request) -> Response<Body> {
    let (claims, encoding) = match admit(&ingest, request.headers()).await {
        Ok(admitted) => admitted,
        Err(fault) => return refuse(request, &fault).await,
    };
    match stages(&ingest, request, &claims, encoding).await {
        Ok(response) => response,
        Err(fault) => told(&fault),
    }
}

/// A fault whose request nobody has read.
pub(crate) async fn refuse(request: Request, fault: &Fault) -> Response<Body> {
    body::discard(request.into_body()).await;
    told(fault)
}

fn told(fault: &Fault) -> Response<Body> {
    tracing::info!(status = fault.status().as_u16(), tag = fault.tag(), "a request was not taken");
    answer::fault(fault)
}

/// What the head alone decides: a stranger costs no parsing.
async fn admit(ingest: &Ingest, headers: &HeaderMap) -> Result<(Claims, Encoding), Fault> {
    body::check_declared_length(headers)?;
    let claims = auth::authenticate(headers, &ingest.tokens).await?;
    Ok((claims, body::encoding(headers)?))
}

async fn stages(
    ingest: &Ingest,
    request: Request,
    claims: &Claims,
    encoding: Encoding,
) -> Result<Response<Body>, Fault> {
    let (parts, raw) = request.into_parts();
    let declared = body::declared(&parts.headers);
    let bytes = body::decode(encoding, body::read(raw, declared, body::BODY_WITHIN).await?)?;
    let mut events = parse::parse(&bytes)?;
    check::check_all(&mut events, &ingest.registry, claims);
    gate::gate_all(&mut events, &*ingest.gate, claims).await?;
    enqueue::enqueue_all(&mut events, &*ingest.producer, traceparent(&parts.headers)).await?;
    Ok(answer::verdicts(events))
}

/// The request's W3C trace context, when it is one: `00-<32 hex>-<16 hex>-<2 hex>`.
fn traceparent(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get("traceparent")?.to_str().ok()?;
    let hex = |text: &str| text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    let sound =
        value.len() == 55 && value.split('-').map(str::len).eq([2, 32, 16, 2]) && value.split('-').all(hex);
    sound.then_some(value)
}

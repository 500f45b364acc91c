//! Request: the routes, and the stages in their order.

use std::any::Any;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Extension, Request, State};
use axum::http::{HeaderMap, Response};
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};
use eventlane_contracts::Registry;
use eventlane_contracts::wire::{EVENTS_PATH, HEALTH_PATH};
use eventlane_queue::Producer;
use tokio::time::Instant;
use tower_http::catch_panic::CatchPanicLayer;

use crate::body::Encoding;
use crate::watch::{Seen, Told, watch};
use crate::{
    Claims, Fault, Gate, IngestOptions, TokenVerifier, answer, auth, body, check, enqueue, gate, parse,
};

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
    /// What is optional.
    pub options: IngestOptions,
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
        // One event's panic is that event's; this is for one that no event can be blamed for.
        .layer(CatchPanicLayer::custom(|_: Box<dyn Any + Send>| told(&Fault::Internal)))
        .layer(from_fn_with_state(Arc::clone(&ingest), watch))
        .with_state(ingest)
}

async fn post_events(
    State(ingest): State<Arc<Ingest>>,
    Extension(seen): Extension<Arc<Seen>>,
    request: Request,
) -> Response<Body> {
    let (claims, encoding) = match admit(&ingest, request.headers()).await {
        Ok(admitted) => admitted,
        Err(fault) => return refuse(request, &fault).await,
    };
    match stages(&ingest, &seen, request, &claims, encoding).await {
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
    let mut response = answer::fault(fault);
    response.extensions_mut().insert(Told(fault.tag()));
    response
}

/// What the head alone decides: a stranger costs no parsing.
async fn admit(ingest: &Ingest, headers: &HeaderMap) -> Result<(Claims, Encoding), Fault> {
    body::check_declared_length(headers)?;
    let claims = auth::authenticate(headers, &ingest.tokens).await?;
    if let Some(limit) = &ingest.options.rate_limit {
        limit.take(&claims).map_err(|retry_after| Fault::TooManyRequests { retry_after })?;
    }
    Ok((claims, body::encoding(headers)?))
}

async fn stages(
    ingest: &Ingest,
    seen: &Seen,
    request: Request,
    claims: &Claims,
    encoding: Encoding,
) -> Result<Response<Body>, Fault> {
    let (parts, raw) = request.into_parts();
    let declared = body::declared(&parts.headers);
    let bytes = body::decode(encoding, body::read(raw, declared, body::BODY_WITHIN).await?)?;
    let _ = seen.bytes.set(bytes.len());
    let mut events = parse::parse(&bytes)?;
    check::check_all(&mut events, &ingest.registry, claims);
    let gate_by = seen.answer_by.min(Instant::now() + ingest.options.gate_timeout);
    gate::gate_all(&mut events, &*ingest.gate, claims, gate_by).await?;
    let filled = enqueue::enqueue_all(&mut events, &*ingest.producer, seen).await?;
    seen.judged(&events, &ingest.registry);
    if let Some(nudges) = &ingest.options.nudges {
        nudges.say(filled, seen.answer_by).await;
    }
    Ok(answer::verdicts(events))
}

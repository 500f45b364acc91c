//! The public door of the lane: `POST /api/events`, stage by stage.
//!
//! ```text
//! watch → request → auth → rate limit → body → parse → check → gate → enqueue → nudge → answer
//! ```
//!
//! # Guarantees
//! - Nothing is let in without proof: the token is verified before a byte of the body is parsed,
//!   and identity is stamped from its claims alone.
//! - Every envelope gets exactly one verdict, in request order. A stage never removes an event, it
//!   gives it a verdict; trouble inside one event, a panic too, stays with that event.
//! - `acked` means that the queue confirmed the message. The answer is written in the time there is
//!   ([`IngestOptions::answer_within`], or the host's deadline), and nothing goes on after it.
//! - No payload, token or claim is logged or quoted.
//!
//! # Not guaranteed
//! - That a batch is taken as a whole: streams have queues of their own, and each event answers for
//!   itself.
//!
//! ```
//! use std::sync::Arc;
//! use eventlane_contracts::{Registry, Stream, SystemClock};
//! use eventlane_ingest::{AdmitAll, Ingest, IngestOptions, TokenSettings, router};
//! use eventlane_queue::EmbeddedQueue;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! let registry = Registry::define([
//!     Stream::json_schema("ping", serde_json::json!({"type": "string"})).identity("who", ["sub"]),
//! ])?;
//! let names = registry.streams().map(|stream| stream.name());
//! let queue = EmbeddedQueue::open(&folder.path().join("queue.db"), names, Arc::new(SystemClock))?;
//! let tokens = TokenSettings {
//!     hs256_secret: Some("at least thirty-two bytes of a secret".into()),
//!     ..TokenSettings::default()
//! };
//! let tokens = tokens.verifier(&registry, Arc::new(SystemClock))?;
//! let app: axum::Router = router(Arc::new(Ingest {
//!     registry: Arc::new(registry),
//!     producer: Arc::new(queue),
//!     gate: Arc::new(AdmitAll),
//!     tokens,
//!     options: IngestOptions::default(),
//! }));
//! # drop(app);
//! # Ok(())
//! # }
//! ```

mod all_of;
mod answer;
mod auth;
mod body;
mod check;
mod cors;
mod enqueue;
mod event;
mod fault;
mod gate;
mod nudge;
mod openapi;
mod options;
mod parse;
mod rate_limit;
mod request;
mod stamp;
#[cfg(test)]
mod tests;
mod token;
mod trace;
mod watch;

pub use all_of::AllOf;
pub use cors::{Cors, CorsSettings, CorsSettingsError};
pub use fault::Fault;
pub use gate::{Admission, AdmitAll, Gate, GateError, GatedEvent, JudgedBy};
pub use nudge::Nudges;
pub use openapi::{openapi, with_openapi};
pub use options::{IngestOptions, RequestContext};
pub use rate_limit::{RateLimit, RateLimitError, RateLimitSettings};
pub use request::{Ingest, router};
#[doc(hidden)]
pub use token::fuzz;
pub use token::{
    Claims, JWKS_COOL_DOWN_SECONDS, JWKS_MAX_AGE_SECONDS, JWKS_TIMEOUT, LEEWAY_SECONDS, TokenError,
    TokenSettings, TokenSettingsError, TokenVerifier,
};
pub use watch::{Observer, RequestReport, UNKNOWN_STREAM, VerdictCount};

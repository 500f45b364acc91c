//! Watch: one line and one report a request, whatever became of it.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::Response;
use axum::middleware::Next;
use eventlane_contracts::Registry;
use eventlane_queue::Traceparent;
use tokio::time::Instant;
use tracing::Instrument;

use crate::event::{Event, State as Stand};
use crate::{Ingest, RequestContext, trace};

/// Stands for every stream that the registry doesn't know: what strangers name is no dimension.
pub const UNKNOWN_STREAM: &str = "unknown";

/// What became of a request. Nothing in it is a sender's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestReport {
    /// The answer's status.
    pub status: u16,
    /// The fault's stable word, where the request as a whole was not taken.
    pub fault: Option<&'static str>,
    /// The verdicts, counted.
    pub verdicts: Vec<VerdictCount>,
    /// Bytes of the body as decoded; 0 when it wasn't read.
    pub bytes: usize,
    /// From the request's begin to its answer.
    pub took: Duration,
    /// The part of it that the queues took, where something was enqueued.
    pub enqueue_took: Option<Duration>,
}

/// Events of a request with one verdict for one cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerdictCount {
    /// A stream of the registry, or [`UNKNOWN_STREAM`].
    pub stream: String,
    /// `acked`, `refused`, `rejected` or `deferred`.
    pub status: &'static str,
    /// The cause's stable word; one of a fixed set.
    pub reason: &'static str,
    /// How many events.
    pub events: usize,
}

/// Is told of every request, before its answer leaves.
pub trait Observer: Send + Sync {
    /// A request was answered. Must not block.
    fn answered(&self, report: &RequestReport);
}

impl RequestReport {
    /// Events with this status.
    #[must_use]
    pub fn events_with(&self, status: &str) -> usize {
        self.verdicts.iter().filter(|count| count.status == status).map(|count| count.events).sum()
    }
}

/// An answer's extension: the fault it tells, by its stable word.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Told(pub(crate) &'static str);

/// What the stages leave for the report, and what they need of the request's frame.
pub(crate) struct Seen {
    pub(crate) answer_by: Instant,
    pub(crate) trace: Option<Traceparent>,
    pub(crate) bytes: OnceLock<usize>,
    pub(crate) enqueue_took: OnceLock<Duration>,
    pub(crate) verdicts: OnceLock<Vec<VerdictCount>>,
}

impl Seen {
    /// Keeps what the verdicts were.
    pub(crate) fn judged(&self, events: &[Event<'_>], registry: &Registry) {
        let _ = self.verdicts.set(count(events, registry));
    }
}

/// Lays one [`Seen`] beside the request, and tells what it saw.
pub(crate) async fn watch(
    State(ingest): State<Arc<Ingest>>,
    mut request: Request,
    next: Next,
) -> Response<Body> {
    let begun = Instant::now();
    let context = request.extensions().get::<RequestContext>();
    let seen = Arc::new(Seen {
        answer_by: ingest.options.answer_by(begun, context),
        trace: trace::context(request.headers()),
        bytes: OnceLock::new(),
        enqueue_took: OnceLock::new(),
        verdicts: OnceLock::new(),
    });
    // At the highest level, so that every line of a request names it.
    let span = tracing::error_span!(
        "request",
        id = context.map(|context| context.request_id.as_str()),
        trace = seen.trace.as_ref().map(Traceparent::trace_id)
    );
    request.extensions_mut().insert(Arc::clone(&seen));
    async {
        let response = next.run(request).await;
        tell(&ingest, &seen, &response, begun.elapsed());
        response
    }
    .instrument(span)
    .await
}

fn tell(ingest: &Ingest, seen: &Seen, response: &Response<Body>, took: Duration) {
    let report = RequestReport {
        status: response.status().as_u16(),
        fault: response.extensions().get::<Told>().map(|told| told.0),
        verdicts: seen.verdicts.get().cloned().unwrap_or_default(),
        bytes: seen.bytes.get().copied().unwrap_or(0),
        took,
        enqueue_took: seen.enqueue_took.get().copied(),
    };
    log(&report);
    if let Some(observer) = &ingest.options.observer {
        // Events are queued by now: an observer's panic must not cost their answer.
        if catch_unwind(AssertUnwindSafe(|| observer.answered(&report))).is_err() {
            tracing::error!("the observer panicked");
        }
    }
}

/// One line. A request that brought nothing and went well, a health check, is worth none at `info`.
fn log(report: &RequestReport) {
    let ms = |took: Duration| u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    let (status, fault, bytes, ms, enqueue_ms) =
        (report.status, report.fault, report.bytes, ms(report.took), report.enqueue_took.map(ms));
    let [acked, refused, rejected, deferred] =
        ["acked", "refused", "rejected", "deferred"].map(|status| report.events_with(status));
    if report.verdicts.is_empty() && fault.is_none() && status < 400 {
        tracing::debug!(status, ms, "answered");
    } else {
        tracing::info!(status, fault, acked, refused, rejected, deferred, bytes, ms, enqueue_ms, "answered");
    }
}

fn count(events: &[Event<'_>], registry: &Registry) -> Vec<VerdictCount> {
    let mut counts = BTreeMap::new();
    for event in events {
        let known = registry.stream(event.envelope.stream.trim());
        let stream = known.map_or(UNKNOWN_STREAM, |stream| stream.name().as_str());
        let (status, reason) = match &event.state {
            Stand::Judged(verdict) => (verdict.status.as_str(), verdict.tag),
            Stand::Parsed | Stand::Stamped(_) => ("deferred", crate::event::tag::INTERNAL),
        };
        *counts.entry((stream, status, reason)).or_insert(0usize) += 1;
    }
    let counts = counts.into_iter();
    counts
        .map(|((stream, status, reason), events)| VerdictCount {
            stream: stream.to_owned(),
            status,
            reason,
            events,
        })
        .collect()
}

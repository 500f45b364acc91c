//! What the door can do beside its stages, and what its host knows of a request.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::{Nudges, RateLimit};

/// What is optional at the door, with its times.
pub struct IngestOptions {
    /// Longest time for the gate's answers to one request. Default 3 s.
    pub gate_timeout: Duration,
    /// Longest time from a request's begin to its answer, whatever hangs. Default 20 s: below the 29 s
    /// after which a gateway answers in our place, with no verdicts for what may have been queued.
    pub answer_within: Duration,
    /// Bounds the requests of one subject. Off by default.
    pub rate_limit: Option<RateLimit>,
    /// Wakes the drain after an enqueue. Off by default.
    pub nudges: Option<Nudges>,
    /// Is told of every request. Nobody by default.
    pub observer: Option<Arc<dyn crate::Observer>>,
}

impl Default for IngestOptions {
    fn default() -> Self {
        Self {
            gate_timeout: Duration::from_secs(3),
            answer_within: Duration::from_secs(20),
            rate_limit: None,
            nudges: None,
            observer: None,
        }
    }
}

/// What a host says of one request, as an extension of it. A host without deadlines says nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestContext {
    /// The host's own id of the request, for logs; never one that a client chose.
    pub request_id: String,
    /// When the answer has to be with the host.
    pub answer_by: Option<Instant>,
}

impl IngestOptions {
    /// When this request's answer has to be written.
    pub(crate) fn answer_by(&self, begun: Instant, context: Option<&RequestContext>) -> Instant {
        let ours = begun + self.answer_within;
        context.and_then(|context| context.answer_by).map_or(ours, |hosts| hosts.min(ours))
    }
}

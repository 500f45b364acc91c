//! An SQS in memory that refuses what AWS refuses, and fails when a test tells it to.
//!
//! It speaks the AWS JSON 1.0 protocol, so the real SDK talks to it. Time is an injected clock:
//! visibility and delays end when the test moves it. Checksums of bodies are left out of the
//! answers, as they are optional there.
//!
//! Stricter than AWS where AWS leaves it open: a stale receipt is always refused (AWS may accept it
//! and do nothing), so that code that leans on one is found. Messages come in the order they were
//! sent, which AWS doesn't promise.
//!
//! ```
//! use std::sync::Arc;
//! use eventlane_testkit::ManualClock;
//! use eventlane_testkit::scripted_sqs::{Action, Fault, ScriptedSqs};
//!
//! let sqs = ScriptedSqs::start(Arc::new(ManualClock::default()), ["lane-a", "lane-b"]);
//! let lost = sqs.fault("lane-b", Action::SendMessageBatch, 1, Fault::LoseAnswer);
//! // … run the code under test against `sqs.url()` and `sqs.queue_url("lane-b")` …
//! assert_eq!(lost.fired(), 0);
//! assert!(sqs.messages("lane-a").is_empty());
//! ```

mod action;
mod answer;
mod batch;
mod error;
mod fault;
mod message;
mod queue;
mod record;
mod state;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::DefaultBodyLimit;
use eventlane_contracts::Clock;

pub use action::Action;
pub use fault::{ANY_QUEUE, FOREVER, Fault, Fired, Which};
pub use message::{Attribute, StoredMessage};
pub use record::{Call, Entry};

use crate::server::LocalServer;
use state::Shared;

/// The account in every queue's URL.
const ACCOUNT: &str = "000000000000";

/// How a receive with a wait behaves on an empty queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LongPolls {
    /// It is answered at once, as if the wait were over: tests don't sleep.
    Instant,
    /// It is held for its real time, or until a message can be received.
    Held,
}

/// The server, its queues, its script and its record of calls.
#[derive(Debug)]
pub struct ScriptedSqs {
    server: LocalServer,
    shared: Arc<Shared>,
}

impl ScriptedSqs {
    /// Starts it with these queues, which stay all there are: others "do not exist".
    #[must_use]
    pub fn start<'a>(clock: Arc<dyn Clock>, queues: impl IntoIterator<Item = &'a str>) -> Self {
        let shared = Arc::new(Shared::new(clock, queues));
        let router = Router::new()
            .fallback(answer::answer)
            // A full call is over axum's limit of 2 MB once its quotes are escaped.
            .layer(DefaultBodyLimit::disable())
            .with_state(Arc::clone(&shared));
        Self { server: LocalServer::start(router), shared }
    }

    /// The endpoint, `http://127.0.0.1:PORT`.
    #[must_use]
    pub fn url(&self) -> String {
        self.server.url()
    }

    /// The URL of a queue, whether or not it exists.
    #[must_use]
    pub fn queue_url(&self, queue: &str) -> String {
        format!("{}/{ACCOUNT}/{queue}", self.url())
    }

    /// Lets the next `times` calls of an action on a queue ([`ANY_QUEUE`] for all) fail this way.
    /// Faults fire in the order they were scripted, one a call; the SDK's own retries are calls.
    pub fn fault(&self, queue: &str, action: Action, times: usize, fault: Fault) -> Fired {
        self.shared.state().script.add(queue, action, times, fault)
    }

    /// Lets every connection that brought a request so far die silently, as while a function is frozen:
    /// its next request is reset, new connections are fine. Counts the resets.
    pub fn kill_connections(&self) -> Fired {
        self.shared.kill_connections()
    }

    /// Takes back every fault that is left, and lets paused answers go on.
    pub fn heal(&self) {
        self.shared.state().script.clear();
        self.shared.changed();
    }

    /// How receives with a wait behave; [`LongPolls::Instant`] unless set.
    pub fn set_long_polls(&self, long_polls: LongPolls) {
        self.shared.state().long_polls = long_polls;
    }

    /// How many messages of a queue may be in flight before a receive is refused with `OverLimit`;
    /// 120,000 unless set.
    ///
    /// # Panics
    /// When the queue doesn't exist.
    pub fn set_in_flight_limit(&self, queue: &str, messages: usize) {
        self.shared.state().queue(queue).in_flight_limit = messages;
    }

    /// Puts a message there by hand, past every check, as a console or an older version might.
    ///
    /// # Panics
    /// When the queue doesn't exist.
    pub fn put(&self, queue: &str, body: &str, attributes: &[(&str, Attribute)]) {
        let attributes = attributes.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        let now_us = self.shared.clock.now_us();
        self.shared.state().queue(queue).store(body.to_owned(), attributes, 0, now_us);
        self.shared.changed();
    }

    /// The messages of a queue, in the order they were sent.
    ///
    /// # Panics
    /// When the queue doesn't exist.
    #[must_use]
    pub fn messages(&self, queue: &str) -> Vec<StoredMessage> {
        let now_us = self.shared.clock.now_us();
        self.shared.state().queue(queue).snapshot(now_us)
    }

    /// Every call so far, in the order they arrived.
    #[must_use]
    pub fn calls(&self) -> Vec<Call> {
        self.shared.state().calls.clone()
    }

    /// The calls of one action on one queue.
    #[must_use]
    pub fn calls_of(&self, action: Action, queue: &str) -> Vec<Call> {
        self.calls().into_iter().filter(|call| call.action == action && call.queue == queue).collect()
    }

    /// Blocks until the calls so far are as wanted; whether that came in time. For counted points:
    /// "after the third delete, kill the process".
    #[must_use]
    pub fn wait_for_calls(&self, within: Duration, wanted: impl Fn(&[Call]) -> bool) -> bool {
        let deadline = Instant::now() + within;
        let mut state = self.shared.state();
        loop {
            if wanted(&state.calls) {
                return true;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            state = self.shared.wait(state, left);
        }
    }
}

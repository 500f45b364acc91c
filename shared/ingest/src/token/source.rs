//! Keys from a URL: when they are fetched, and what is trusted meanwhile.
//!
//! # Invariants
//! - At most one fetch starts in a cool-down, whoever asks for whatever key, and whether the set is
//!   full, empty or was never loaded. A fetch that its asker gave up on counts.
//! - A fetch runs inside the requests that wait for it, and all that need it wait for the same one:
//!   nothing goes on after the answer, when Lambda freezes the process.
//! - A set is replaced by the next that was read whole, never by a failure. Past its maximum age
//!   one request at a time tries for a new one; the others go on with what there is.
//! - A clock that was set back ends a cool-down and ages the set: it delays nothing.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use eventlane_contracts::Clock;
use futures::FutureExt;
use futures::future::{BoxFuture, Shared, WeakShared};

use super::error::{FetchError, TokenError};
use super::fetch::Fetcher;
use super::jwks::Jwks;
use super::key_set::KeySet;

type Load = Shared<BoxFuture<'static, ()>>;

/// The keys behind a URL.
pub(crate) struct KeySource {
    pub(crate) fetcher: Fetcher,
    pub(crate) cool_down: Duration,
    pub(crate) max_age: Duration,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) state: Mutex<State>,
}

/// What is known of them.
#[derive(Default)]
pub(crate) struct State {
    keys: Option<Loaded>,
    /// When the last fetch started, in unix microseconds.
    tried_at_us: Option<i64>,
    /// The fetch that is on its way, as long as anybody waits for it.
    running: Option<WeakShared<BoxFuture<'static, ()>>>,
}

struct Loaded {
    set: Arc<KeySet>,
    at_us: i64,
}

impl KeySource {
    /// The keys to verify with now.
    ///
    /// # Errors
    /// [`TokenError::KeysUnavailable`] when none could ever be loaded.
    pub(crate) async fn keys(self: &Arc<Self>) -> Result<Arc<KeySet>, TokenError> {
        let load = {
            let mut state = self.state();
            match &state.keys {
                Some(loaded) if !self.is_past(loaded.at_us, self.max_age) => {
                    return Ok(Arc::clone(&loaded.set));
                }
                // One request waits for the new set; those beside it needn't.
                Some(_) if running(&state).is_some() => None,
                Some(_) => self.start(&mut state),
                None => running(&state).or_else(|| self.start(&mut state)),
            }
        };
        if let Some(load) = load {
            load.await;
        }
        let state = self.state();
        let unavailable = || TokenError::KeysUnavailable { retry_after_seconds: self.cools_for(&state) };
        state.keys.as_ref().map(|loaded| Arc::clone(&loaded.set)).ok_or_else(unavailable)
    }

    /// A set that came after `seen`, for a token that `seen` has no key for. `None` when there is
    /// none, and none may be fetched yet.
    pub(crate) async fn newer_than(self: &Arc<Self>, seen: &Arc<KeySet>) -> Option<Arc<KeySet>> {
        let load = {
            let mut state = self.state();
            if let Some(newer) = newer(&state, seen) {
                return Some(newer);
            }
            running(&state).or_else(|| self.start(&mut state))
        };
        load?.await;
        newer(&self.state(), seen)
    }

    /// Starts a fetch unless the last one was within the cool-down. It runs as it is awaited.
    fn start(self: &Arc<Self>, state: &mut State) -> Option<Load> {
        if state.tried_at_us.is_some_and(|tried| !self.is_past(tried, self.cool_down)) {
            return None;
        }
        let now = self.clock.now_us();
        state.tried_at_us = Some(now);
        let source = Arc::clone(self);
        let load = async move { source.settle(source.fetcher.fetch().await, now) }.boxed().shared();
        state.running = load.downgrade();
        Some(load)
    }

    fn settle(&self, fetched: Result<Jwks, FetchError>, at_us: i64) {
        let mut state = self.state();
        state.running = None;
        match fetched {
            Ok(jwks) => {
                tracing::info!(
                    keys = jwks.keys.len(),
                    left_aside = jwks.odd.len(),
                    "keys for tokens were loaded"
                );
                for odd in &jwks.odd {
                    tracing::info!(index = odd.index, reason = odd.reason, "a key of the JWKS is left aside");
                }
                state.keys = Some(Loaded { set: Arc::new(KeySet(jwks.keys)), at_us });
            }
            Err(error) => {
                let stale = state.keys.is_some();
                tracing::warn!(tag = error.tag(), %error, stale, "keys for tokens could not be loaded");
            }
        }
    }

    /// Whether `span` has passed since `at_us`, or the clock was set back behind it.
    fn is_past(&self, at_us: i64, span: Duration) -> bool {
        let passed = self.clock.now_us().saturating_sub(at_us);
        u128::try_from(passed).map_or(true, |passed| passed >= span.as_micros())
    }

    /// Seconds until the next fetch may start, at least 1.
    fn cools_for(&self, state: &State) -> u32 {
        let passed = state.tried_at_us.map_or(0, |tried| self.clock.now_us().saturating_sub(tried));
        let passed = Duration::from_micros(u64::try_from(passed).unwrap_or(0));
        let left = self.cool_down.saturating_sub(passed);
        u32::try_from(left.as_micros().div_ceil(1_000_000)).unwrap_or(u32::MAX).max(1)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // What is behind it is whole at every moment.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn running(state: &State) -> Option<Load> {
    state.running.as_ref()?.upgrade()
}

fn newer(state: &State, seen: &Arc<KeySet>) -> Option<Arc<KeySet>> {
    let set = &state.keys.as_ref()?.set;
    (!Arc::ptr_eq(set, seen)).then(|| Arc::clone(set))
}

//! What the handlers and the test share.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use eventlane_contracts::Clock;
use tokio::sync::Notify;

use super::LongPolls;
use super::fault::{Fired, Script};
use super::queue::Queue;
use super::record::Call;
use crate::server::Connection;

/// The queues, the script, the record.
#[derive(Debug)]
pub(super) struct State {
    pub(super) queues: BTreeMap<String, Queue>,
    pub(super) script: Script,
    pub(super) calls: Vec<Call>,
    pub(super) long_polls: LongPolls,
    /// How often every connection died, and how many requests met it the last time.
    deaths: (u64, Fired),
}

impl State {
    /// A declared queue.
    #[track_caller]
    pub(super) fn queue(&mut self, name: &str) -> &mut Queue {
        self.queues.get_mut(name).unwrap_or_else(|| panic!("queue {name:?} was not declared"))
    }
}

/// The state, and who waits for it to change.
pub(super) struct Shared {
    pub(super) clock: Arc<dyn Clock>,
    state: Mutex<State>,
    called: Condvar,
    arrived: Notify,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("state", &self.state).finish_non_exhaustive()
    }
}

impl Shared {
    pub(super) fn new<'a>(clock: Arc<dyn Clock>, queues: impl IntoIterator<Item = &'a str>) -> Self {
        let state = State {
            queues: queues.into_iter().map(|name| (name.to_owned(), Queue::default())).collect(),
            script: Script::default(),
            calls: Vec::new(),
            long_polls: LongPolls::Instant,
            deaths: (0, Fired::default()),
        };
        Self { clock, state: Mutex::new(state), called: Condvar::new(), arrived: Notify::new() }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        // A test that failed while it held the lock has already said so.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Every connection that brought a request so far dies with its next one.
    pub(super) fn kill_connections(&self) -> Fired {
        let mut state = self.state();
        state.deaths = (state.deaths.0 + 1, Fired::default());
        state.deaths.1.clone()
    }

    /// The counter of what this connection is to die of, if it is.
    pub(super) fn dies(&self, connection: &Connection) -> Option<Fired> {
        let state = self.state();
        connection.is_older_than(state.deaths.0).then(|| state.deaths.1.clone())
    }

    /// Writes a call down, and tells the test.
    pub(super) fn record(&self, state: &mut State, call: Call) {
        state.calls.push(call);
        self.called.notify_all();
    }

    /// Waits for the next call.
    pub(super) fn wait<'a>(&self, state: MutexGuard<'a, State>, at_most: Duration) -> MutexGuard<'a, State> {
        self.called.wait_timeout(state, at_most).unwrap_or_else(PoisonError::into_inner).0
    }

    /// Waits until no answer is to be paused any more.
    pub(super) async fn healed(&self) {
        loop {
            let change = self.next_change();
            if !self.state().script.pauses() {
                return;
            }
            change.await;
        }
    }

    /// Tells held polls that messages may have become visible, and paused answers that they may go on.
    pub(super) fn changed(&self) {
        self.arrived.notify_waiters();
    }

    /// Ends at the next [`changed`](Self::changed) after this call.
    pub(super) fn next_change(&self) -> tokio::sync::futures::Notified<'_> {
        self.arrived.notified()
    }
}

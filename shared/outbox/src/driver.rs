//! The background driver: a thread that runs passes when the schedule says so.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use crate::flusher::Flusher;
use crate::observe::Subscription;
use crate::options::micros;
use crate::schedule::Schedule;

/// Flushes in the background: at start, after an append, on the interval, when the network comes
/// back. Dropping it asks the thread to end and does not wait.
pub struct Driver {
    pub(crate) state: Arc<State>,
    thread: Option<JoinHandle<()>>,
    _nudges: Subscription,
}

/// What became of a stopped driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// The last pass is over; nothing runs any more.
    Finished,
    /// The time was up first. The pass ends at its next batch boundary, by itself.
    StillRunning,
}

pub(crate) struct State {
    flusher: Flusher,
    began: Instant,
    stop: AtomicBool,
    inner: Mutex<Inner>,
    changed: Condvar,
}

/// What the thread does next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Look {
    Run,
    Rest(Duration),
    /// Until somebody tells of a change.
    Sleep,
    End,
}

pub(crate) struct Inner {
    schedule: Schedule,
    has_ended: bool,
}

impl Driver {
    pub(crate) fn start(flusher: Flusher) -> std::io::Result<Self> {
        let schedule = Schedule::new(micros(flusher.shared.interval), micros(flusher.shared.linger));
        let outbox = flusher.outbox().clone();
        let state = Arc::new(State {
            flusher,
            began: Instant::now(),
            stop: AtomicBool::new(false),
            inner: Mutex::new(Inner { schedule, has_ended: false }),
            changed: Condvar::new(),
        });
        let nudged = Arc::clone(&state);
        let nudges = outbox.inner.nudges.add(move |()| {
            nudged.inner().schedule.nudge(nudged.now_us());
            nudged.changed.notify_all();
        });
        let running = Arc::clone(&state);
        let thread = Builder::new().name("eventlane-flush".to_owned()).spawn(move || running.run())?;
        Ok(Self { state, thread: Some(thread), _nudges: nudges })
    }

    /// Tells whether the network is there. Offline, nothing runs; coming back runs a pass at once and
    /// ends the lane's own backoff, never a server's `Retry-After`.
    pub fn set_online(&self, is_online: bool) {
        let mut inner = self.state.inner();
        if inner.schedule.set_online(is_online) {
            // Before the thread can see that a pass is wanted: that pass is to know.
            self.state.flusher.online();
        }
        drop(inner);
        self.state.changed.notify_all();
    }

    /// The app is about to be suspended: nothing new is sent until [`resume`](Self::resume), and the lock
    /// on the file is let go of at once, even in the middle of a request, so that another process (an
    /// extension, a background task) can flush. What is answered meanwhile is settled all the same.
    pub fn suspend(&self) {
        self.state.inner().schedule.set_suspended(true);
        self.state.flusher.suspend();
        self.state.changed.notify_all();
    }

    /// Ends a suspension, with a pass at once.
    pub fn resume(&self) {
        self.state.flusher.resume();
        self.state.inner().schedule.set_suspended(false);
        self.state.changed.notify_all();
    }

    /// Ends the driver: no new batch begins, the one under way is awaited for at most `timeout`.
    #[must_use = "a pass may still run"]
    pub fn stop(mut self, timeout: Duration) -> Stopped {
        self.state.ask_to_stop();
        let inner = self.state.inner();
        let (inner, _) = self
            .state
            .changed
            .wait_timeout_while(inner, timeout, |inner| !inner.has_ended)
            .unwrap_or_else(PoisonError::into_inner);
        let has_ended = inner.has_ended;
        drop(inner);
        if !has_ended {
            return Stopped::StillRunning;
        }
        if let Some(thread) = self.thread.take() {
            // It has nothing left to do but return.
            drop(thread.join());
        }
        Stopped::Finished
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.state.ask_to_stop();
    }
}

impl std::fmt::Debug for Driver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Driver").field("flusher", &self.state.flusher).finish_non_exhaustive()
    }
}

impl State {
    pub(crate) fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now_us(&self) -> i64 {
        micros(self.began.elapsed())
    }

    fn ask_to_stop(&self) {
        // Under the lock, so that the thread can't look before and sleep after.
        let inner = self.inner();
        self.stop.store(true, Ordering::Release);
        drop(inner);
        self.changed.notify_all();
    }

    fn run(&self) {
        while self.wait_for_turn() {
            // A panic of a transport, a token source or a hook ends its pass, not the lane.
            let outcome = catch_unwind(AssertUnwindSafe(|| self.flusher.flush_unless(&self.stop)));
            // Logged without the lock: a log layer may append.
            let wait_us = match outcome {
                Ok(Ok(report)) => report.wait.map(micros),
                Ok(Err(error)) => {
                    tracing::warn!(tag = error.tag(), %error, "flush failed");
                    None
                }
                Err(_) => {
                    tracing::error!("flush panicked");
                    None
                }
            };
            let now_us = self.now_us();
            self.inner().schedule.ended(now_us, wait_us);
        }
        self.inner().has_ended = true;
        self.changed.notify_all();
    }

    /// What there is to do now.
    pub(crate) fn look(&self, inner: &Inner) -> Look {
        if self.stop.load(Ordering::Acquire) {
            return Look::End;
        }
        let Some(due_us) = inner.schedule.due_us() else { return Look::Sleep };
        match u64::try_from(due_us.saturating_sub(self.now_us())) {
            Ok(rest_us) if rest_us > 0 => Look::Rest(Duration::from_micros(rest_us)),
            _ => Look::Run,
        }
    }

    /// Sleeps until a pass is due; `false` when it is time to end.
    fn wait_for_turn(&self) -> bool {
        let mut inner = self.inner();
        loop {
            match self.look(&inner) {
                Look::End => return false,
                Look::Run => {
                    inner.schedule.began();
                    return true;
                }
                Look::Rest(rest) => {
                    let waited = self.changed.wait_timeout(inner, rest);
                    inner = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
                Look::Sleep => inner = self.changed.wait(inner).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}

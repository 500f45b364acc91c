//! The flush with its network: the core, a transport, a token source. One pass at a time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::authorize::Authorizer;
use crate::driver::Driver;
use crate::error::{ConfigError, FlushError};
use crate::flush::{FlushCore, Task};
use crate::lock::PassLock;
use crate::observe::{Subscribers, Subscription};
use crate::outbox::Outbox;
use crate::report::{BatchReport, FlushReport, PassEnd};
use crate::running::Running;
use crate::token::TokenSource;
use crate::transport::Transport;
use crate::tuning::FlushOptions;

/// Flushes an outbox. Cheap to clone; all clones share passes.
#[derive(Clone)]
pub struct Flusher {
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) outbox: Outbox,
    pub(crate) interval: Duration,
    pub(crate) linger: Duration,
    core: Mutex<FlushCore>,
    transport: Arc<dyn Transport>,
    tokens: Authorizer,
    /// The pass under way, which whoever comes meanwhile shares.
    turn: Mutex<Option<Arc<Running>>>,
    lock: PassLock,
    came_online: AtomicBool,
    reports: Subscribers<FlushReport>,
    batches: Subscribers<BatchReport>,
}

impl Flusher {
    /// A flusher for `outbox`.
    ///
    /// # Errors
    /// [`ConfigError`] naming every offender of `options`.
    pub fn new(
        outbox: Outbox,
        options: FlushOptions,
        transport: Arc<dyn Transport>,
        tokens: Arc<dyn TokenSource>,
    ) -> Result<Self, ConfigError> {
        let core = FlushCore::new(outbox.clone(), &options)?;
        Ok(Self {
            shared: Arc::new(Shared {
                outbox,
                interval: core.tuning.interval,
                linger: core.tuning.linger,
                tokens: Authorizer::new(tokens, core.tuning.token_timeout),
                lock: core.lock.clone(),
                core: Mutex::new(core),
                transport,
                turn: Mutex::default(),
                came_online: AtomicBool::new(false),
                reports: Subscribers::new(),
                batches: Subscribers::new(),
            }),
        })
    }

    /// Runs a pass: batches until nothing is eligible or the lane is at fault. Blocks for the time of
    /// its requests. Callers that come while a pass runs share it and get its report; one that is a hook
    /// of that very pass gets [`PassEnd::Elsewhere`].
    ///
    /// # Errors
    /// [`FlushError`] when the outbox can't be read or settled; trouble with the network or the
    /// server is in the report.
    pub fn flush(&self) -> Result<FlushReport, FlushError> {
        self.flush_unless(&AtomicBool::new(false))
    }

    /// As [`flush`](Self::flush), ended at the next batch boundary once `stop` is set.
    pub(crate) fn flush_unless(&self, stop: &AtomicBool) -> Result<FlushReport, FlushError> {
        let shared = &*self.shared;
        let mut turn = shared.turn();
        if let Some(running) = turn.clone() {
            drop(turn);
            return running.share();
        }
        let running = Arc::new(Running::new());
        *turn = Some(Arc::clone(&running));
        drop(turn);
        let mut end = EndOfTurn { shared, running, outcome: Err(FlushError::Panicked) };
        let outcome = shared.pass(stop);
        end.outcome = outcome.clone();
        drop(end);
        outcome
    }

    /// Starts the background driver.
    ///
    /// # Errors
    /// The operating system's, when it has no thread to give.
    pub fn start(&self) -> std::io::Result<Driver> {
        Driver::start(self.clone())
    }

    /// Hears of every pass worth hearing of: verdicts other than `acked`, parked rows, faults,
    /// backoff. With no subscriber such reports are logged at warn.
    pub fn on_report(&self, hook: impl Fn(&FlushReport) + Send + Sync + 'static) -> Subscription {
        self.shared.reports.add(hook)
    }

    /// Hears of every answered batch, after it is settled: for progress bars.
    pub fn on_batch(&self, hook: impl Fn(&BatchReport) + Send + Sync + 'static) -> Subscription {
        self.shared.batches.add(hook)
    }

    /// The network is back: ends the lane's own backoff before the next pass, never a server's
    /// `Retry-After`.
    pub fn online(&self) {
        self.shared.came_online.store(true, Ordering::Release);
    }

    /// The app is about to be suspended: lets go of the lock on the file at once, even in the middle of a
    /// request, so that another process can flush. The running pass ends at its next batch boundary and
    /// settles what is answered until then; passes end as [`PassEnd::Stopped`] until
    /// [`resume`](Self::resume).
    pub fn suspend(&self) {
        self.shared.lock.suspend();
    }

    /// Ends a suspension.
    pub fn resume(&self) {
        self.shared.lock.resume();
    }

    /// The outbox it flushes.
    #[must_use]
    pub fn outbox(&self) -> &Outbox {
        &self.shared.outbox
    }
}

impl Shared {
    pub(crate) fn turn(&self) -> MutexGuard<'_, Option<Arc<Running>>> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pass(&self, stop: &AtomicBool) -> Result<FlushReport, FlushError> {
        if stop.load(Ordering::Acquire) {
            return Ok(FlushReport { end: PassEnd::Stopped, ..FlushReport::default() });
        }
        // After a panic in a hook the core is where it was: its pass goes on.
        let mut core = self.core.lock().unwrap_or_else(PoisonError::into_inner);
        if self.came_online.swap(false, Ordering::AcqRel) {
            core.online();
        }
        let report = self.run(&mut core, stop);
        drop(core);
        if let Err(FlushError::Store(error)) = &report {
            self.outbox.inner.suspect(error);
        }
        let report = report?;
        if report.is_noteworthy() && !self.reports.tell(&report) {
            log(&report);
        }
        Ok(report)
    }

    fn run(&self, core: &mut FlushCore, stop: &AtomicBool) -> Result<FlushReport, FlushError> {
        loop {
            if stop.load(Ordering::Acquire) {
                core.stop();
            }
            match core.next_task()? {
                Task::Authorize { refresh } => core.on_credentials(self.tokens.token(refresh))?,
                Task::Post(post) => {
                    let outcome = self.transport.post(post.request());
                    if let Some(batch) = core.on_answer(outcome)? {
                        self.batches.tell(&batch);
                    }
                }
                Task::Done(report) => return Ok(report),
            }
        }
    }
}

/// Ends a turn even when a transport or a hook panics: the others must not wait for ever.
struct EndOfTurn<'a> {
    shared: &'a Shared,
    running: Arc<Running>,
    outcome: Result<FlushReport, FlushError>,
}

impl Drop for EndOfTurn<'_> {
    fn drop(&mut self) {
        *self.shared.turn() = None;
        self.running.end(self.outcome.clone());
    }
}

impl std::fmt::Debug for Flusher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Flusher").field("outbox", &self.shared.outbox).finish_non_exhaustive()
    }
}

fn log(report: &FlushReport) {
    let fault = match &report.end {
        PassEnd::Failed(fault) => fault.to_string(),
        PassEnd::Done | PassEnd::BackingOff | PassEnd::Elsewhere | PassEnd::Stopped => String::new(),
    };
    tracing::warn!(
        refused = report.refused,
        rejected = report.rejected,
        deferred = report.deferred,
        unanswered = report.unanswered,
        parked = report.parked,
        fault,
        backoff = ?report.backoff,
        "flush"
    );
}

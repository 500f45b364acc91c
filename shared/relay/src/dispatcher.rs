//! The dispatcher: one pass at a time by hand, or a loop of its own.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::AbortHandle;
use tracing::{error, warn};

use crate::halt::Halt;
use crate::metrics::{Counters, MetricsHook};
use crate::{
    DispatchOptions, Driver, DriverError, OptionsError, OutboxTable, Publisher, RelayMetrics, RunError,
    RunReport, StartError, run,
};

/// A row that was given up, as the hook hears of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeadRow<'a> {
    /// Its id.
    pub id: &'a str,
    /// Its topic, where it could be read.
    pub topic: Option<&'a str>,
    /// Attempts spent.
    pub attempts: u32,
    /// Why; `last_error` holds the same.
    pub reason: &'a str,
}

/// Hears of every row that went dead, after it was marked.
pub type DeadHook = dyn Fn(&DeadRow<'_>) + Send + Sync;

/// What a dispatcher is made of.
pub(crate) struct Core {
    pub(crate) driver: Arc<dyn Driver>,
    pub(crate) publisher: Arc<dyn Publisher>,
    pub(crate) options: DispatchOptions,
    pub(crate) counters: Counters,
    /// Publishes in a row that found the other side down.
    pub(crate) outages: AtomicU32,
    pub(crate) metrics_hook: Option<(Duration, Arc<MetricsHook>)>,
    on_dead: Option<Arc<DeadHook>>,
}

/// Brings rows from an outbox to a publisher. Any number of them may run on one table, in any number
/// of processes.
pub struct Dispatcher {
    core: Arc<Core>,
    stop: watch::Sender<bool>,
    /// Each pass and the loop hold a receiver.
    alive: watch::Sender<()>,
    state: Mutex<State>,
}

enum State {
    Idle,
    Started(AbortHandle),
    ShutDown,
}

/// How a shutdown ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// What was in flight has finished.
    Finished,
    /// The grace was over first; what was in flight lapses and comes again.
    CutOff,
}

/// Puts a dispatcher together.
#[must_use]
pub struct DispatcherBuilder {
    core: Core,
}

impl Dispatcher {
    /// A dispatcher from this database to this publisher.
    pub fn builder(driver: Arc<dyn Driver>, publisher: Arc<dyn Publisher>) -> DispatcherBuilder {
        DispatcherBuilder {
            core: Core {
                driver,
                publisher,
                options: DispatchOptions::default(),
                counters: Counters::default(),
                outages: AtomicU32::new(0),
                metrics_hook: None,
                on_dead: None,
            },
        }
    }

    /// One batch, and one slice of the purge.
    ///
    /// # Errors
    /// [`RunError::Database`] when the database failed: what was claimed and not come to lapses.
    /// [`RunError::Started`] beside its own loop, [`RunError::ShutDown`] after a shutdown.
    ///
    /// # Cancel safety
    /// A dropped pass leaves its claimed rows to lapse; they come again, with the attempt spent that
    /// was begun.
    pub async fn run_once(&self) -> Result<RunReport, RunError> {
        let (_alive, halt) = self.begin_pass(None)?;
        let mut report = self.core.batch(&halt).await?.report;
        report.purged = self.core.purge_slice().await;
        Ok(report)
    }

    /// Batches until nothing is due, the other side is down or `budget` is spent, overrun by one
    /// publish at most; then one slice of the purge. Zero reads nothing.
    ///
    /// # Errors
    /// As [`run_once`](Self::run_once).
    pub async fn run_for(&self, budget: Duration) -> Result<RunReport, RunError> {
        let (_alive, halt) = self.begin_pass(Some(budget))?;
        let mut report = RunReport::default();
        while !halt.is_reached() {
            let batch = self.core.batch(&halt).await?;
            report.add(&batch.report);
            if batch.pause.is_some() || (batch.report.claimed == 0 && !batch.full) {
                break;
            }
        }
        if !halt.is_reached() {
            report.purged = self.core.purge_slice().await;
        }
        Ok(report)
    }

    /// Starts the loop. Started once is started: again is fine.
    ///
    /// # Errors
    /// [`StartError`] after a shutdown, or outside of a tokio runtime.
    pub fn start(&self) -> Result<(), StartError> {
        let runtime = tokio::runtime::Handle::try_current().map_err(|_| StartError::NoRuntime)?;
        let mut state = self.state();
        match *state {
            State::Started(_) => return Ok(()),
            State::ShutDown => return Err(StartError::ShutDown),
            State::Idle => {}
        }
        let (core, alive) = (Arc::clone(&self.core), self.alive.subscribe());
        let halt = Halt::by_stop(self.stop.subscribe());
        let task = runtime.spawn(async move {
            run::run(&core, &halt).await;
            drop(alive);
        });
        *state = State::Started(task.abort_handle());
        Ok(())
    }

    /// Shuts down for good: nothing more is claimed, claimed rows that were not started are given
    /// back, and what is in flight is waited for, up to `grace`. What is still in flight then lapses.
    ///
    /// # Cancel safety
    /// A dropped shutdown stays asked for; another call waits again.
    pub async fn shutdown(&self, grace: Duration) -> Stopped {
        self.stop.send_replace(true);
        let before = std::mem::replace(&mut *self.state(), State::ShutDown);
        if tokio::time::timeout(grace, self.alive.closed()).await.is_ok() {
            return Stopped::Finished;
        }
        if let State::Started(task) = before {
            task.abort();
        }
        warn!(grace_ms = grace.as_millis(), "shut down with a row in flight; its lease lapses");
        Stopped::CutOff
    }

    /// What is pending and dead by the table, what this dispatcher did by its counters.
    ///
    /// # Errors
    /// The database's.
    pub async fn metrics(&self) -> Result<RelayMetrics, DriverError> {
        self.core.metrics().await
    }

    fn begin_pass(&self, budget: Option<Duration>) -> Result<(watch::Receiver<()>, Halt), RunError> {
        match *self.state() {
            State::Idle => {}
            State::Started(_) => return Err(RunError::Started),
            State::ShutDown => return Err(RunError::ShutDown),
        }
        let stop = self.stop.subscribe();
        let halt =
            budget.map_or_else(|| Halt::by_stop(stop.clone()), |budget| Halt::after(budget, stop.clone()));
        Ok((self.alive.subscribe(), halt))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Dispatcher {
    /// A dropped dispatcher is shut down, without anyone to wait for it.
    fn drop(&mut self) {
        self.stop.send_replace(true);
    }
}

impl DispatcherBuilder {
    /// How it goes about it.
    pub fn options(mut self, options: DispatchOptions) -> Self {
        self.core.options = options;
        self
    }

    /// Hears of every row that goes dead.
    pub fn on_dead(mut self, hook: impl Fn(&DeadRow<'_>) + Send + Sync + 'static) -> Self {
        self.core.on_dead = Some(Arc::new(hook));
        self
    }

    /// Hears the metrics this often, while the loop runs.
    pub fn on_metrics(
        mut self,
        every: Duration,
        hook: impl Fn(&RelayMetrics) + Send + Sync + 'static,
    ) -> Self {
        self.core.metrics_hook = Some((every, Arc::new(hook)));
        self
    }

    /// The dispatcher; nothing is asked of the database yet.
    ///
    /// # Errors
    /// [`OptionsError`] with every number that is out of its range.
    pub fn build(self) -> Result<Dispatcher, OptionsError> {
        self.core.options.check()?;
        Ok(Dispatcher {
            core: Arc::new(self.core),
            stop: watch::Sender::new(false),
            alive: watch::Sender::new(()),
            state: Mutex::new(State::Idle),
        })
    }
}

/// Delivered rows deleted by one statement: short locks, and a bounded pass.
pub(crate) const PURGE_SLICE: u32 = 500;

impl Core {
    /// The unconditional warning, then the hook.
    pub(crate) fn tell_dead(&self, row: &DeadRow<'_>) {
        warn!(id = row.id, topic = row.topic, attempts = row.attempts, reason = row.reason, "a row is dead");
        if let Some(hook) = &self.on_dead
            && catch_unwind(AssertUnwindSafe(|| hook(row))).is_err()
        {
            error!(id = row.id, "the hook for dead rows panicked; the row is marked");
        }
    }

    /// One slice of the purge. A fault of it is no reason to fail a pass: the next one tries again.
    pub(crate) async fn purge_slice(&self) -> u64 {
        let Some(retention) = self.options.retention else { return 0 };
        let store = crate::store::Store::new(&*self.driver, self.options.database_timeout);
        match store.purge(retention, PURGE_SLICE).await {
            Ok(purged) => purged,
            Err(error) => {
                warn!(tag = error.tag(), "delivered rows were not purged; it is tried again");
                0
            }
        }
    }

    pub(crate) async fn metrics(&self) -> Result<RelayMetrics, DriverError> {
        let counts = OutboxTable::new(Arc::clone(&self.driver)).counts().await?;
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Ok(RelayMetrics {
            pending: counts.pending,
            oldest_pending_age: counts.oldest_pending_age,
            dead: counts.dead,
            published: read(&self.counters.published),
            failed: read(&self.counters.failed),
            lost: read(&self.counters.lost),
        })
    }
}

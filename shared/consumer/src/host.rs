//! Which host works for a consumer now: a pass or the runner, one of them, and nothing after a stop.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::consumer::Core;
use crate::{DrainError, EventConsumer, StartError};

/// How a stop ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// Everything that ran has ended.
    Finished,
    /// The grace was over first: what still ran was dropped, and its messages lapse.
    CutOff,
}

#[derive(Debug)]
pub(crate) struct Host {
    stop: watch::Sender<bool>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    kind: Kind,
    passes: usize,
    /// Open for as long as something lives that holds its sender.
    alive: Option<watch::Receiver<()>>,
    tasks: Vec<AbortHandle>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Kind {
    #[default]
    Idle,
    Pass,
    Running,
    Stopped,
}

impl Default for Host {
    fn default() -> Self {
        Self { stop: watch::Sender::new(false), state: Mutex::default() }
    }
}

impl Host {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A pass under way.
pub(crate) struct Pass<'a> {
    host: &'a Host,
    _alive: watch::Sender<()>,
    /// The stream to begin with.
    pub(crate) first: usize,
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        let mut state = self.host.state();
        if state.kind == Kind::Pass {
            state.kind = Kind::Idle;
        }
    }
}

impl EventConsumer {
    pub(crate) fn with_core(core: Core) -> Self {
        Self { core: Arc::new(core), host: Host::default() }
    }

    pub(crate) fn begin_pass(&self) -> Result<Pass<'_>, DrainError> {
        let mut state = self.host.state();
        match state.kind {
            Kind::Pass => return Err(DrainError::Busy),
            Kind::Running => return Err(DrainError::Running),
            Kind::Stopped => return Err(DrainError::Stopped),
            Kind::Idle => {}
        }
        let (alive, end) = watch::channel(());
        let first = state.passes % self.core.streams.len().max(1);
        state.kind = Kind::Pass;
        state.passes = state.passes.wrapping_add(1);
        state.alive = Some(end);
        Ok(Pass { host: &self.host, _alive: alive, first })
    }

    pub(crate) fn begin_running(
        &self,
        spawn: impl FnOnce(&Arc<watch::Sender<()>>) -> Vec<AbortHandle>,
    ) -> Result<(), StartError> {
        let mut state = self.host.state();
        match state.kind {
            Kind::Running => return Ok(()),
            Kind::Pass => return Err(StartError::Draining),
            Kind::Stopped => return Err(StartError::Stopped),
            Kind::Idle => {}
        }
        let (alive, end) = watch::channel(());
        state.tasks = spawn(&Arc::new(alive));
        state.alive = Some(end);
        state.kind = Kind::Running;
        Ok(())
    }

    pub(crate) fn stopped(&self) -> watch::Receiver<bool> {
        self.host.stop.subscribe()
    }

    /// What ends when the last of what lives has ended.
    pub(crate) fn ask_to_stop(&self) -> watch::Receiver<()> {
        let mut state = self.host.state();
        state.kind = Kind::Stopped;
        self.host.stop.send_replace(true);
        // With nothing ever started the sender is gone already.
        state.alive.clone().unwrap_or_else(|| watch::channel(()).1)
    }

    pub(crate) fn abort(&self) {
        for task in self.host.state().tasks.drain(..) {
            task.abort();
        }
    }
}

//! A pass under way, shared by all who ask for one meanwhile.

use std::sync::{Condvar, Mutex, PoisonError};
use std::thread::{self, ThreadId};

use crate::error::FlushError;
use crate::report::{FlushReport, PassEnd};

type Outcome = Result<FlushReport, FlushError>;

pub(crate) struct Running {
    by: ThreadId,
    outcome: Mutex<Option<Outcome>>,
    ended: Condvar,
}

impl Running {
    /// A pass of this thread.
    pub(crate) fn new() -> Self {
        Self { by: thread::current().id(), outcome: Mutex::default(), ended: Condvar::new() }
    }

    /// Waits for the pass, and takes its outcome. A hook that this pass itself calls can't wait for it.
    pub(crate) fn share(&self) -> Outcome {
        if self.by == thread::current().id() {
            return Ok(FlushReport { end: PassEnd::Elsewhere, ..FlushReport::default() });
        }
        let outcome = self.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        let ended = self.ended.wait_while(outcome, |outcome| outcome.is_none());
        let outcome = ended.unwrap_or_else(PoisonError::into_inner);
        outcome.clone().unwrap_or(Err(FlushError::Panicked))
    }

    pub(crate) fn end(&self, outcome: Outcome) {
        *self.outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
        self.ended.notify_all();
    }
}

//! Asks the token source, with a bound: one that hangs must not hold the pass, and its lock, for ever.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use crate::error::TokenError;
use crate::token::{Credentials, TokenSource};

/// A token source that answers in time.
pub(crate) struct Authorizer {
    source: Arc<dyn TokenSource>,
    timeout: Duration,
    is_asked: Arc<AtomicBool>,
}

/// Ends a question, even when the source panics.
struct Asked(Arc<AtomicBool>);

impl Drop for Asked {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

impl Authorizer {
    pub(crate) fn new(source: Arc<dyn TokenSource>, timeout: Duration) -> Self {
        Self { source, timeout, is_asked: Arc::default() }
    }

    /// As [`TokenSource::token`], but after the timeout there is no token. A question that still hangs
    /// is waited for by nobody, and no second thread is spent on the same source meanwhile.
    pub(crate) fn token(&self, refresh: bool) -> Result<Credentials, TokenError> {
        if self.is_asked.swap(true, Ordering::AcqRel) {
            return Err(TokenError("token source still hangs".to_owned()));
        }
        let asked = Asked(Arc::clone(&self.is_asked));
        let (source, (answer, answers)) = (Arc::clone(&self.source), channel());
        let thread = std::thread::Builder::new().name("eventlane-token".to_owned()).spawn(move || {
            let outcome = source.token(refresh);
            drop(asked);
            // Nobody may be waiting any more.
            drop(answer.send(outcome));
        });
        let Ok(thread) = thread else {
            return Err(TokenError("no thread for the token source".to_owned()));
        };
        match answers.recv_timeout(self.timeout) {
            Ok(outcome) => outcome,
            Err(RecvTimeoutError::Timeout) => {
                Err(TokenError(format!("token source took longer than {:?}", self.timeout)))
            }
            Err(RecvTimeoutError::Disconnected) => match thread.join() {
                Err(panic) => resume_unwind(panic),
                Ok(()) => Err(TokenError("token source gave no answer".to_owned())),
            },
        }
    }
}

//! Append without blocking: any executor, or none of ours.
//!
//! The event is checked and queued by the call; a thread of the outbox, started with the first such
//! append, commits for all that wait. It ends with the outbox.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use serde::Serialize;

use crate::append::Appended;
use crate::error::AppendError;
use crate::group::{NewRow, Ticket, aborted};
use crate::outbox::{Inner, Outbox};

/// The committing thread's bell; `None` when the system had no thread to give. Each ring keeps the
/// outbox alive until it is served, so that no queued event is left behind by the last handle.
#[derive(Default)]
pub(crate) struct Committer(OnceLock<Option<Sender<Arc<Inner>>>>);

/// An append under way.
///
/// # Cancel safety
/// The event is queued already: dropping the future doesn't take it back, it only forgets the outcome.
#[must_use = "the outcome is known once it is awaited"]
pub struct AppendFuture(State);

enum State {
    Refused(AppendError),
    Queued { ticket: Arc<Ticket>, event_id: String },
    Done,
}

impl Future for AppendFuture {
    type Output = Result<Appended, AppendError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match std::mem::replace(&mut self.0, State::Done) {
            State::Refused(error) => Poll::Ready(Err(error)),
            State::Queued { ticket, event_id } => match ticket.poll(context.waker()) {
                None => {
                    self.0 = State::Queued { ticket, event_id };
                    Poll::Pending
                }
                Some(Err(error)) => Poll::Ready(Err(AppendError::Store(error))),
                Some(Ok(mut rows)) => {
                    let row = rows.pop().unwrap_or_else(|| Err(AppendError::Store(aborted())));
                    Poll::Ready(row.map(|seq| Appended { event_id, seq }))
                }
            },
            State::Done => Poll::Ready(Err(AppendError::Store(aborted()))),
        }
    }
}

impl std::fmt::Debug for AppendFuture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AppendFuture")
    }
}

impl Outbox {
    /// As [`append`](Self::append), without blocking: the future is ready after the local commit.
    /// Needs no runtime; appends that wait at the same time share a commit.
    ///
    /// # Errors
    /// As [`append`](Self::append), when the future is awaited.
    pub fn append_async<T: Serialize + ?Sized>(&self, stream: &str, payload: &T) -> AppendFuture {
        self.queue(self.checked(stream, payload))
    }

    /// As [`append_json`](Self::append_json), without blocking; see
    /// [`append_async`](Self::append_async).
    ///
    /// # Errors
    /// As [`append_json`](Self::append_json), when the future is awaited.
    pub fn append_json_async(&self, stream: &str, text: &str) -> AppendFuture {
        self.queue(self.checked_json(stream, text))
    }

    fn queue(&self, row: Result<NewRow, AppendError>) -> AppendFuture {
        let row = match row {
            Ok(row) => row,
            Err(error) => return AppendFuture(State::Refused(error)),
        };
        let event_id = row.event_id.clone();
        let ticket = self.inner.group.join(vec![row]);
        let bell = self.inner.committer.0.get_or_init(start);
        let is_heard = bell.as_ref().is_some_and(|bell| bell.send(Arc::clone(&self.inner)).is_ok());
        if !is_heard {
            // No thread: better to block than not to store.
            self.inner.commit_for_others();
        }
        AppendFuture(State::Queued { ticket, event_id })
    }
}

impl Inner {
    fn commit_for_others(&self) {
        if self.lead_once() {
            // Refused rows change nothing, so the status is read; what can't be read now the pass tells.
            self.commits.fetch_add(1, Ordering::SeqCst);
            drop(self.refresh_status());
            self.wake();
        }
    }
}

fn start() -> Option<Sender<Arc<Inner>>> {
    let (bell, rings) = channel();
    let thread = std::thread::Builder::new().name("eventlane-append".to_owned());
    thread.spawn(move || run(&rings)).ok().map(|_| bell)
}

fn run(rings: &Receiver<Arc<Inner>>) {
    while let Ok(inner) = rings.recv() {
        // One commit serves all who rang so far; who joined has joined before ringing.
        while rings.try_recv().is_ok() {}
        // A panic of a hook must not end the appends of everybody.
        drop(catch_unwind(AssertUnwindSafe(|| inner.commit_for_others())));
    }
}

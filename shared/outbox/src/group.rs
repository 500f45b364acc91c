//! The shared commit: of all appends that wait, one commits for all.
//!
//! Invariants: a ticket is committed whole, or its rows have an outcome that says why not; an
//! appender waits for the commit under way and for its own, never for a third; a leader that panics
//! leaves its tickets an outcome and the lead to the next.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use rusqlite::{Connection, ErrorCode, TransactionBehavior};

use crate::bounds::Admission;
use crate::error::{AppendError, StoreError};
use crate::outbox::Inner;

/// A row that is checked and stamped, but not stored.
pub(crate) struct NewRow {
    pub(crate) event_id: String,
    pub(crate) stream: String,
    pub(crate) occurred_at_us: i64,
    pub(crate) payload: String,
    pub(crate) account: Option<String>,
}

/// Each row's number or refusal; or why none was stored.
pub(crate) type Outcome = Result<Vec<Result<i64, AppendError>>, StoreError>;

/// Rows that wait for a commit.
pub(crate) struct Ticket {
    rows: Vec<NewRow>,
    slot: Mutex<Slot>,
}

#[derive(Default)]
struct Slot {
    outcome: Option<Outcome>,
    waker: Option<Waker>,
}

impl Ticket {
    fn slot(&self) -> MutexGuard<'_, Slot> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The outcome, or a promise to wake.
    pub(crate) fn poll(&self, waker: &Waker) -> Option<Outcome> {
        let mut slot = self.slot();
        let outcome = slot.outcome.take();
        if outcome.is_none() {
            slot.waker = Some(waker.clone());
        }
        outcome
    }

    fn put(&self, outcome: Outcome) {
        let mut slot = self.slot();
        slot.outcome = Some(outcome);
        let waker = slot.waker.take();
        drop(slot);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// Appends waiting for a leader.
#[derive(Default)]
pub(crate) struct Group {
    state: Mutex<State>,
    committed: Condvar,
}

#[derive(Default)]
struct State {
    queue: Vec<Arc<Ticket>>,
    is_led: bool,
}

impl Group {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends that wait for the next commit.
    #[cfg(test)]
    pub(crate) fn waiting(&self) -> usize {
        self.state().queue.len()
    }

    /// Puts rows in the queue.
    pub(crate) fn join(&self, rows: Vec<NewRow>) -> Arc<Ticket> {
        let ticket = Arc::new(Ticket { rows, slot: Mutex::default() });
        self.state().queue.push(Arc::clone(&ticket));
        ticket
    }
}

impl Inner {
    /// Waits for a ticket's outcome, leading a commit when nobody else does.
    pub(crate) fn settle_ticket(&self, ticket: &Ticket) -> Outcome {
        loop {
            let mut state = self.group.state();
            loop {
                if let Some(outcome) = ticket.slot().outcome.take() {
                    return outcome;
                }
                if !state.is_led {
                    break;
                }
                state = self.group.committed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            self.lead(state);
        }
    }

    /// Commits whatever waits; whether there was anything.
    pub(crate) fn lead_once(&self) -> bool {
        let mut state = self.group.state();
        while state.is_led {
            state = self.group.committed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        self.lead(state)
    }

    fn lead(&self, mut state: MutexGuard<'_, State>) -> bool {
        let tickets = std::mem::take(&mut state.queue);
        if tickets.is_empty() {
            return false;
        }
        state.is_led = true;
        drop(state);
        let mut damage = None;
        {
            let lead = Lead { group: &self.group, tickets };
            let mut writer = self.writer();
            commit(self, &mut writer, &lead.tickets, &mut damage);
        }
        // Marked with neither the lead nor the connection in hand: marking may log, and a log layer
        // may append.
        if let Some(error) = damage {
            self.suspect(&error);
        }
        true
    }
}

/// Ends a lead, even one that panics.
struct Lead<'a> {
    group: &'a Group,
    tickets: Vec<Arc<Ticket>>,
}

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            for ticket in &self.tickets {
                if ticket.slot().outcome.is_none() {
                    ticket.put(Err(aborted()));
                }
            }
        }
        self.group.state().is_led = false;
        self.group.committed.notify_all();
    }
}

fn commit(inner: &Inner, writer: &mut Connection, tickets: &[Arc<Ticket>], damage: &mut Option<StoreError>) {
    match inner.check_in_place().and_then(|()| insert(inner, writer, tickets)) {
        Ok(outcomes) => tickets.iter().zip(outcomes).for_each(|(ticket, rows)| ticket.put(Ok(rows))),
        // One ticket's trouble (a row too big for what is left of the disk) must not be another's.
        // A lock held for too long is everybody's, and waiting again for each would only add up.
        Err(error) if tickets.len() > 1 && !is_busy(&error) => {
            for ticket in tickets {
                commit(inner, writer, std::slice::from_ref(ticket), damage);
            }
        }
        Err(error) => {
            let error = Arc::new(error);
            *damage = Some(Arc::clone(&error));
            tickets.iter().for_each(|ticket| ticket.put(Err(Arc::clone(&error))));
        }
    }
}

type Outcomes = Vec<Vec<Result<i64, AppendError>>>;

fn insert(inner: &Inner, writer: &mut Connection, tickets: &[Arc<Ticket>]) -> rusqlite::Result<Outcomes> {
    let now_us = inner.stamper.now_us();
    let transaction = writer.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut admission = Admission::read(&transaction, inner.bounds)?;
    let mut outcomes = Vec::with_capacity(tickets.len());
    for ticket in tickets {
        let rows = ticket.rows.iter().map(|row| insert_row(&transaction, &mut admission, row, now_us));
        outcomes.push(rows.collect::<rusqlite::Result<Vec<_>>>()?);
    }
    transaction.commit()?;
    Ok(outcomes)
}

/// Stores one row; its number, or why it may not come in.
pub(crate) fn insert_row(
    connection: &Connection,
    admission: &mut Admission,
    row: &NewRow,
    now_us: i64,
) -> rusqlite::Result<Result<i64, AppendError>> {
    if let Err(refusal) = admission.admit(&row.payload) {
        return Ok(Err(refusal));
    }
    let params = (&row.event_id, &row.stream, row.occurred_at_us, &row.payload, now_us, &row.account);
    connection.prepare_cached(INSERT)?.insert(params).map(Ok)
}

const INSERT: &str = "INSERT INTO eventlane_outbox \
        (event_id, stream, occurred_at_us, payload, enqueued_at_us, account) \
    VALUES (?1, ?2, ?3, ?4, ?5, ?6)";

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

pub(crate) fn aborted() -> StoreError {
    Arc::new(rusqlite::Error::SqliteFailure(
        rusqlite::ffi::Error {
            code: ErrorCode::OperationAborted,
            extended_code: rusqlite::ffi::SQLITE_ABORT,
        },
        Some("the shared commit was abandoned".to_owned()),
    ))
}

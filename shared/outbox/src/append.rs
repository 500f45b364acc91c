//! Append: check, stamp, commit on the caller's thread.
//!
//! Concurrent appends share one commit: each puts its rows in the queue and goes for the writer;
//! whoever gets it commits all that is queued, the others find their outcome when their turn comes.
//! A hand-over to a writer thread would cost as much as the commit itself.

use std::sync::{Arc, Mutex, PoisonError};

use eventlane_contracts::{PayloadFault, Stream};
use rusqlite::{Connection, ErrorCode, TransactionBehavior};
use serde::Serialize;

use crate::error::{AppendError, StoreError};
use crate::outbox::{Outbox, Status};

/// Events of one transaction of [`Outbox::append_all`]: enough to make the fsync cheap, few enough
/// that other appends don't wait.
const GROUP_EVENTS: usize = 1000;

/// An event that is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Appended {
    /// The event's id, a `UUIDv7`, lower case and hyphenated.
    pub event_id: String,
    /// Its place in the outbox. Local: never sent.
    pub seq: i64,
}

struct NewRow {
    event_id: String,
    stream: String,
    occurred_at_us: i64,
    payload: String,
    account: Option<String>,
}

type Outcome = Result<Vec<i64>, StoreError>;

struct Ticket {
    rows: Vec<NewRow>,
    outcome: Mutex<Option<Outcome>>,
}

/// Appends waiting for a leader.
#[derive(Default)]
pub(crate) struct Group {
    queue: Mutex<Vec<Arc<Ticket>>>,
}

impl Outbox {
    /// Appends a value as it serialises. Returns after the local commit; never waits for the network.
    ///
    /// # Errors
    /// In this order: [`AppendError::NoStreams`], [`AppendError::UnknownStream`],
    /// [`AppendError::Invalid`], [`AppendError::TooLarge`], [`AppendError::Store`]. Nothing is
    /// stored then.
    pub fn append<T: Serialize + ?Sized>(&self, stream: &str, payload: &T) -> Result<Appended, AppendError> {
        let known = self.known(stream)?;
        let text = serde_json::to_string(payload)
            .map_err(|_| AppendError::of(stream, PayloadFault::Unrepresentable))?;
        let row = self.row(known, &text)?;
        self.commit_one(row)
    }

    /// Appends JSON text, kept literally but for white space between its parts.
    ///
    /// # Errors
    /// As [`append`](Self::append).
    pub fn append_json(&self, stream: &str, text: &str) -> Result<Appended, AppendError> {
        let row = self.row(self.known(stream)?, text)?;
        self.commit_one(row)
    }

    /// Appends many JSON texts, each with its own outcome, in order, in transactions of up to 1,000
    /// events. Texts are taken from the iterator as they are needed.
    ///
    /// # Errors
    /// [`AppendError::NoStreams`] and [`AppendError::UnknownStream`], which are the same for all;
    /// every other trouble is that text's own outcome.
    pub fn append_all<S: AsRef<str>>(
        &self,
        stream: &str,
        texts: impl IntoIterator<Item = S>,
    ) -> Result<Vec<Result<Appended, AppendError>>, AppendError> {
        let known = self.known(stream)?;
        let mut outcomes = Vec::new();
        let mut texts = texts.into_iter().peekable();
        while texts.peek().is_some() {
            let rows = texts.by_ref().take(GROUP_EVENTS).map(|text| self.row(known, text.as_ref())).collect();
            outcomes.extend(self.commit_many(rows));
        }
        Ok(outcomes)
    }

    fn known(&self, stream: &str) -> Result<&Stream, AppendError> {
        let registry = &self.inner.registry;
        if registry.is_empty() {
            return Err(AppendError::NoStreams);
        }
        registry.stream(stream).ok_or_else(|| AppendError::UnknownStream {
            stream: eventlane_contracts::text::cut(stream, 64).to_owned(),
            known: registry.streams().map(|stream| stream.name().to_string()).collect(),
        })
    }

    fn row(&self, stream: &Stream, text: &str) -> Result<NewRow, AppendError> {
        let name = stream.name().as_str();
        // The contract's output is thrown away: what is stored is the caller's own value.
        let payload = stream.check(text).map_err(|fault| AppendError::of(name, fault))?.stored.into_owned();
        let occurred_at_us = self.inner.stamper.now_us();
        Ok(NewRow {
            event_id: self.inner.stamper.event_id(occurred_at_us),
            stream: name.to_owned(),
            occurred_at_us,
            payload,
            account: self.inner.account.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        })
    }

    fn commit_one(&self, row: NewRow) -> Result<Appended, AppendError> {
        // One row goes in, so one outcome comes out.
        self.commit_many(vec![Ok(row)]).pop().unwrap_or_else(|| Err(AppendError::Store(aborted())))
    }

    fn commit_many(&self, rows: Vec<Result<NewRow, AppendError>>) -> Vec<Result<Appended, AppendError>> {
        let mut outcomes: Vec<Result<Appended, AppendError>> = Vec::with_capacity(rows.len());
        let mut stored = Vec::new();
        for row in rows {
            // The number is filled in after the commit.
            outcomes.push(row.map(|row| {
                let event_id = row.event_id.clone();
                stored.push(row);
                Appended { event_id, seq: 0 }
            }));
        }
        if stored.is_empty() {
            return outcomes;
        }
        let outcome = self.commit(stored);
        let mut seqs = outcome.as_ref().ok().into_iter().flatten();
        for slot in outcomes.iter_mut().filter(|outcome| outcome.is_ok()) {
            *slot = match (&outcome, &*slot, seqs.next()) {
                (Ok(_), Ok(appended), Some(seq)) => {
                    Ok(Appended { event_id: appended.event_id.clone(), seq: *seq })
                }
                (Err(error), _, _) => Err(AppendError::Store(Arc::clone(error))),
                _ => Err(AppendError::Store(aborted())),
            };
        }
        if outcome.is_ok() {
            self.inner.publish(Status { empty: false });
            self.nudge();
        }
        outcomes
    }

    fn commit(&self, rows: Vec<NewRow>) -> Outcome {
        let ticket = Arc::new(Ticket { rows, outcome: Mutex::new(None) });
        let queue = || self.inner.group.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue().push(Arc::clone(&ticket));
        let mut writer = self.inner.writer();
        if let Some(outcome) = ticket.take() {
            return outcome;
        }
        let tickets = std::mem::take(&mut *queue());
        commit_group(&mut writer, &tickets, self.inner.stamper.now_us());
        // Empty only when an earlier leader panicked with this ticket in hand: then nothing of it
        // was committed.
        ticket.take().unwrap_or_else(|| Err(aborted()))
    }
}

impl Ticket {
    fn take(&self) -> Option<Outcome> {
        self.outcome.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn put(&self, outcome: Outcome) {
        *self.outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
    }
}

fn commit_group(writer: &mut Connection, tickets: &[Arc<Ticket>], now_us: i64) {
    match insert(writer, tickets, now_us) {
        Ok(seqs) => tickets.iter().zip(seqs).for_each(|(ticket, seqs)| ticket.put(Ok(seqs))),
        // One ticket's trouble (a row too big for what is left of the disk) must not be another's.
        // A lock held for too long is everybody's, and waiting again for each would only add up.
        Err(error) if tickets.len() > 1 && !is_busy(&error) => {
            for ticket in tickets {
                commit_group(writer, std::slice::from_ref(ticket), now_us);
            }
        }
        Err(error) => {
            let error = Arc::new(error);
            tickets.iter().for_each(|ticket| ticket.put(Err(Arc::clone(&error))));
        }
    }
}

fn insert(writer: &mut Connection, tickets: &[Arc<Ticket>], now_us: i64) -> rusqlite::Result<Vec<Vec<i64>>> {
    let transaction = writer.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut seqs = Vec::with_capacity(tickets.len());
    {
        let mut insert = transaction.prepare_cached(
            "INSERT INTO eventlane_outbox \
                 (event_id, stream, occurred_at_us, payload, enqueued_at_us, account) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?;
        for ticket in tickets {
            let one = |row: &NewRow| {
                insert.insert((
                    &row.event_id,
                    &row.stream,
                    row.occurred_at_us,
                    &row.payload,
                    now_us,
                    &row.account,
                ))
            };
            seqs.push(ticket.rows.iter().map(one).collect::<Result<Vec<_>, _>>()?);
        }
    }
    transaction.commit()?;
    Ok(seqs)
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

fn aborted() -> StoreError {
    Arc::new(rusqlite::Error::SqliteFailure(
        rusqlite::ffi::Error {
            code: ErrorCode::OperationAborted,
            extended_code: rusqlite::ffi::SQLITE_ABORT,
        },
        Some("the shared commit was abandoned".to_owned()),
    ))
}

//! Append: check, stamp, commit on the caller's thread.
//!
//! Concurrent appends share one commit: each puts its rows in the queue; whoever finds nobody
//! committing commits all that is queued. A hand-over to a writer thread would cost as much as the
//! commit itself.

use std::sync::PoisonError;

use eventlane_contracts::{PayloadFault, Stream};
use serde::Serialize;

use crate::error::AppendError;
use crate::group::{NewRow, Outcome, aborted};
use crate::outbox::Outbox;

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

impl Outbox {
    /// Appends a value as it serialises. Returns after the local commit; never waits for the network.
    ///
    /// # Errors
    /// In this order: [`AppendError::NoStreams`], [`AppendError::UnknownStream`],
    /// [`AppendError::Invalid`], [`AppendError::TooLarge`], [`AppendError::ConsentWithdrawn`],
    /// [`AppendError::Full`], [`AppendError::Store`]. Nothing is stored then.
    pub fn append<T: Serialize + ?Sized>(&self, stream: &str, payload: &T) -> Result<Appended, AppendError> {
        let row = self.checked(stream, payload)?;
        self.commit_one(row)
    }

    /// Appends JSON text, kept literally but for white space between its parts.
    ///
    /// # Errors
    /// As [`append`](Self::append).
    pub fn append_json(&self, stream: &str, text: &str) -> Result<Appended, AppendError> {
        let row = self.checked_json(stream, text)?;
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

    /// A value, checked and stamped.
    pub(crate) fn checked<T: Serialize + ?Sized>(
        &self,
        stream: &str,
        payload: &T,
    ) -> Result<NewRow, AppendError> {
        let known = self.known(stream)?;
        let text = serde_json::to_string(payload)
            .map_err(|_| AppendError::of(stream, PayloadFault::Unrepresentable))?;
        self.row(known, &text)
    }

    /// A text, checked and stamped.
    pub(crate) fn checked_json(&self, stream: &str, text: &str) -> Result<NewRow, AppendError> {
        self.row(self.known(stream)?, text)
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
        let mut outcomes: Vec<Result<String, AppendError>> = Vec::with_capacity(rows.len());
        let mut stored = Vec::new();
        for row in rows {
            outcomes.push(row.map(|row| {
                let event_id = row.event_id.clone();
                stored.push(row);
                event_id
            }));
        }
        let outcome = if stored.is_empty() { Ok(Vec::new()) } else { self.commit(stored) };
        let mut rows = match &outcome {
            Ok(rows) => rows.iter(),
            Err(_) => [].iter(),
        };
        let mut stored_one = |event_id| match (&outcome, rows.next()) {
            (Ok(_), Some(seq)) => seq.clone().map(|seq| Appended { event_id, seq }),
            (Err(error), _) => Err(AppendError::Store(error.clone())),
            (Ok(_), None) => Err(AppendError::Store(aborted())),
        };
        outcomes.into_iter().map(|outcome| outcome.and_then(&mut stored_one)).collect()
    }

    fn commit(&self, rows: Vec<NewRow>) -> Outcome {
        let ticket = self.inner.group.join(rows);
        let outcome = self.inner.settle_ticket(&ticket);
        if outcome.as_ref().is_ok_and(|rows| rows.iter().any(Result::is_ok)) {
            self.inner.stored();
            self.inner.wake();
        }
        outcome
    }
}

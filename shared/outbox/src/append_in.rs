//! Appends inside the app's own transaction: both its change and the event, or neither.
//!
//! With rusqlite, the row is written here. An app on another driver takes the validated statement and
//! its parameters, and runs them itself. Either way bad input is refused before the database is
//! touched, so the app's transaction stays usable.

use std::fmt;
use std::sync::Arc;

use rusqlite::Transaction;
use serde::Serialize;

use crate::append::Appended;
use crate::bounds::Admission;
use crate::error::AppendError;
use crate::group::{NewRow, insert_row};
use crate::outbox::Outbox;

/// The statement that appends, for an app on another driver. Its parameters are those of
/// [`PlainAppend`], in order. It changes one row; none when consent was withdrawn meanwhile.
pub const APPEND_SQL: &str = "INSERT INTO eventlane_outbox \
        (event_id, stream, occurred_at_us, payload, enqueued_at_us, account) \
    SELECT ?1, ?2, ?3, ?4, ?5, ?6 WHERE NOT EXISTS \
        (SELECT 1 FROM eventlane_meta WHERE key = 'consent_withdrawn' AND value <> 0)";

/// A checked and stamped event: the parameters of [`APPEND_SQL`], in this order.
#[derive(Clone, PartialEq, Eq)]
pub struct PlainAppend {
    /// `?1`: the event's id.
    pub event_id: String,
    /// `?2`: its stream.
    pub stream: String,
    /// `?3`: unix microseconds.
    pub occurred_at_us: i64,
    /// `?4`: JSON text.
    pub payload: String,
    /// `?5`: unix microseconds.
    pub enqueued_at_us: i64,
    /// `?6`: the account, NULL in an app without accounts.
    pub account: Option<String>,
}

impl fmt::Debug for PlainAppend {
    /// Never shows the payload or whose it is.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlainAppend")
            .field("event_id", &self.event_id)
            .field("stream", &self.stream)
            .finish_non_exhaustive()
    }
}

impl Outbox {
    /// Appends a value in the caller's own transaction on this outbox's file. After its commit call
    /// [`nudge`](Self::nudge). Durability is that of the caller's connection.
    ///
    /// # Errors
    /// As [`append`](Self::append). The transaction stays usable, but for what SQLite itself says.
    pub fn append_in<T: Serialize + ?Sized>(
        &self,
        transaction: &Transaction<'_>,
        stream: &str,
        payload: &T,
    ) -> Result<Appended, AppendError> {
        self.insert_in(transaction, &self.checked(stream, payload)?)
    }

    /// Appends JSON text in the caller's own transaction; see [`append_in`](Self::append_in).
    ///
    /// # Errors
    /// As [`append_in`](Self::append_in).
    pub fn append_json_in(
        &self,
        transaction: &Transaction<'_>,
        stream: &str,
        text: &str,
    ) -> Result<Appended, AppendError> {
        self.insert_in(transaction, &self.checked_json(stream, text)?)
    }

    /// A checked event for [`APPEND_SQL`], for an app whose driver isn't rusqlite: run the statement
    /// in the app's own transaction, and [`nudge`](Self::nudge) after its commit. Consent and bounds
    /// are looked at now; a bound may be passed by as much as is prepared at once.
    ///
    /// # Errors
    /// As [`append`](Self::append); nothing is stored by this call.
    pub fn plain_append<T: Serialize + ?Sized>(
        &self,
        stream: &str,
        payload: &T,
    ) -> Result<PlainAppend, AppendError> {
        self.plain(self.checked(stream, payload)?)
    }

    /// As [`plain_append`](Self::plain_append), of JSON text.
    ///
    /// # Errors
    /// As [`plain_append`](Self::plain_append).
    pub fn plain_append_json(&self, stream: &str, text: &str) -> Result<PlainAppend, AppendError> {
        self.plain(self.checked_json(stream, text)?)
    }

    fn insert_in(&self, transaction: &Transaction<'_>, row: &NewRow) -> Result<Appended, AppendError> {
        let mut admission = Admission::read(transaction, self.inner.bounds).map_err(store)?;
        let now_us = self.inner.stamper.now_us();
        let seq = insert_row(transaction, &mut admission, row, now_us).map_err(store)??;
        Ok(Appended { event_id: row.event_id.clone(), seq })
    }

    fn plain(&self, row: NewRow) -> Result<PlainAppend, AppendError> {
        let mut admission = Admission::look(&self.inner.writer(), self.inner.bounds).map_err(store)?;
        admission.admit(&row.payload)?;
        let NewRow { event_id, stream, occurred_at_us, payload, account } = row;
        let enqueued_at_us = self.inner.stamper.now_us();
        Ok(PlainAppend { event_id, stream, occurred_at_us, payload, enqueued_at_us, account })
    }
}

fn store(error: rusqlite::Error) -> AppendError {
    AppendError::Store(Arc::new(error))
}

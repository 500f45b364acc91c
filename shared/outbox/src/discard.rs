//! Rows removed or handed over on purpose: discard, consent, claim.
//!
//! In slices, each its own short transaction, so that appends and a pass get their turn. Rows are
//! found first and changed by `seq`, which is never given twice; what came after the call began stays.

use rusqlite::{Connection, TransactionBehavior};

use crate::bounds::{WITHDRAWN_KEY, is_withdrawn};
use crate::error::FlushError;
use crate::outbox::Outbox;
use crate::schema;

/// Rows of one transaction.
const SLICE_ROWS: i64 = 1000;

/// Which rows to discard, pending or of the acked ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Discard<'a> {
    /// All of a stream, whether it is registered or not.
    Stream(&'a str),
    /// All of an account; `Some("")` is what was appended signed out, `None` an app without accounts.
    Account(Option<&'a str>),
    /// These events.
    Ids(&'a [&'a str]),
    /// Everything.
    All,
}

impl Outbox {
    /// Removes rows on purpose; how many. A request under way with them can't be called back.
    ///
    /// # Errors
    /// [`FlushError::Store`] when the outbox can't be changed; what was removed before stays removed.
    pub fn discard(&self, what: Discard<'_>) -> Result<u64, FlushError> {
        let mut connection = self.inner.flusher();
        let count = discard(&mut connection, what)?;
        drop(connection);
        self.inner.refresh_status()?;
        Ok(count)
    }

    /// Gives or withdraws the user's consent. Withdrawn, every append of every process fails with
    /// [`AppendError::ConsentWithdrawn`](crate::AppendError::ConsentWithdrawn), also after a restart,
    /// and all rows are discarded: how many is returned. Given is the default, and returns 0.
    ///
    /// # Errors
    /// [`FlushError::Store`] when the outbox can't be changed. If the switch was recorded, appends
    /// fail already, and the next pass discards what is left and sends nothing.
    pub fn set_consent(&self, is_given: bool) -> Result<u64, FlushError> {
        {
            let mut connection = self.inner.writer();
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            if is_given {
                schema::remove(&transaction, WITHDRAWN_KEY)?;
            } else {
                schema::set(&transaction, WITHDRAWN_KEY, 1)?;
            }
            transaction.commit()?;
        }
        if is_given { Ok(0) } else { self.discard(Discard::All) }
    }

    /// Whether consent is given.
    ///
    /// # Errors
    /// [`FlushError::Store`] when the outbox can't be read.
    pub fn has_consent(&self) -> Result<bool, FlushError> {
        Ok(!is_withdrawn(&self.inner.writer())?)
    }

    /// Gives the rows that were appended signed out (account `''`) to `account`; how many. Until then,
    /// or until they are discarded, they wait. An empty `account` claims nothing.
    ///
    /// # Errors
    /// [`FlushError::Store`] when the outbox can't be changed; rows claimed before stay claimed.
    pub fn claim(&self, account: &str) -> Result<u64, FlushError> {
        if account.is_empty() {
            return Ok(0);
        }
        let mut connection = self.inner.flusher();
        let find = "SELECT seq FROM eventlane_outbox WHERE account = '' AND acked_at_us IS NULL \
            AND seq > ?1 ORDER BY seq LIMIT ?2";
        let claim = "UPDATE eventlane_outbox SET account = ?2 WHERE seq = ?1 AND account = ''";
        let mut count = 0;
        let mut after = 0;
        loop {
            let seqs = seqs(&connection, find, (after, SLICE_ROWS))?;
            let Some(last) = seqs.last().copied() else { break };
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            for seq in seqs {
                count += transaction.prepare_cached(claim)?.execute((seq, account))? as u64;
            }
            transaction.commit()?;
            after = last;
        }
        drop(connection);
        self.inner.wake();
        Ok(count)
    }
}

/// Removes rows in slices; how many.
pub(crate) fn discard(connection: &mut Connection, what: Discard<'_>) -> rusqlite::Result<u64> {
    if let Discard::Ids(ids) = what {
        let mut count = 0;
        for ids in ids.chunks(usize::try_from(SLICE_ROWS).unwrap_or(1)) {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            for id in ids {
                let mut delete =
                    transaction.prepare_cached("DELETE FROM eventlane_outbox WHERE event_id = ?1")?;
                count += delete.execute([id])? as u64;
            }
            transaction.commit()?;
        }
        return Ok(count);
    }
    let end: i64 =
        connection.query_row("SELECT coalesce(max(seq), 0) FROM eventlane_outbox", [], |row| row.get(0))?;
    let (mut count, mut after) = (0, i64::MIN);
    loop {
        let seqs = match what {
            Discard::Stream(stream) => {
                let find = "SELECT seq FROM eventlane_outbox WHERE stream = ?4 AND seq > ?1 AND seq <= ?2 \
                    ORDER BY seq LIMIT ?3";
                seqs(connection, find, (after, end, SLICE_ROWS, stream))?
            }
            Discard::Account(account) => {
                let find = "SELECT seq FROM eventlane_outbox WHERE account IS ?4 AND seq > ?1 AND seq <= ?2 \
                    ORDER BY seq LIMIT ?3";
                seqs(connection, find, (after, end, SLICE_ROWS, account))?
            }
            Discard::Ids(_) | Discard::All => {
                let find = "SELECT seq FROM eventlane_outbox WHERE seq > ?1 AND seq <= ?2 \
                    ORDER BY seq LIMIT ?3";
                seqs(connection, find, (after, end, SLICE_ROWS))?
            }
        };
        let Some(last) = seqs.last().copied() else { return Ok(count) };
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for seq in seqs {
            let mut delete = transaction.prepare_cached("DELETE FROM eventlane_outbox WHERE seq = ?1")?;
            count += delete.execute([seq])? as u64;
        }
        transaction.commit()?;
        after = last;
    }
}

fn seqs(connection: &Connection, sql: &str, params: impl rusqlite::Params) -> rusqlite::Result<Vec<i64>> {
    connection.prepare_cached(sql)?.query_map(params, |row| row.get(0))?.collect()
}

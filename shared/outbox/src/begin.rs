//! The begin of a pass: whether there is one, and for whom.
//!
//! Invariants: one pass of all processes at a time, by the lock; nobody is asked for a token while no
//! row could go with it; rows of one account are never assembled for another.

use rusqlite::Connection;

use crate::bounds::is_withdrawn;
use crate::discard::{Discard, discard};
use crate::error::FlushError;
use crate::flush::{FlushCore, duration};
use crate::lock::Taken;
use crate::options::micros;
use crate::pass::{Pass, Phase, Step};
use crate::report::{FlushReport, PassEnd};
use crate::settle::sweep;
use crate::status::any_pending;
use crate::token::Credentials;
use crate::{promote, waiting};

/// What became of a pass that was asked for.
pub(crate) enum Begun {
    Pass(Box<Pass>),
    Nothing(FlushReport),
}

impl FlushCore {
    /// A new pass, or the report of one that has nothing to do.
    pub(crate) fn begin(&mut self) -> Result<Begun, FlushError> {
        self.stopping = false;
        let now_us = self.now_us();
        let nothing = |end, wait_us: Option<i64>| {
            let wait = wait_us.map(duration);
            Ok(Begun::Nothing(FlushReport { end, wait, ..FlushReport::default() }))
        };
        let lock = match self.lock.try_take(&self.outbox.inner.path)? {
            Taken::Here(lock) => lock,
            Taken::Elsewhere => return nothing(PassEnd::Elsewhere, None),
            Taken::Suspended => return nothing(PassEnd::Stopped, None),
        };
        self.record_what_is_left()?;
        let mut connection = self.outbox.inner.flusher();
        if is_withdrawn(&connection)? {
            // Whatever the switch itself didn't get done.
            discard(&mut connection, Discard::All)?;
        }
        if let Some(wait_us) = self.lane.wait_us(&connection, now_us, self.tuning.lane)? {
            return nothing(PassEnd::BackingOff, Some(wait_us));
        }
        let wait_us = self.rest_us(&connection, now_us)?;
        if wait_us == Some(0) {
            return Ok(Begun::Pass(Box::new(Pass::new(now_us, lock))));
        }
        sweep(&connection, now_us, micros(self.outbox.inner.acked_retention))?;
        drop(connection);
        self.outbox.inner.refresh_status()?;
        nothing(PassEnd::Done, wait_us)
    }

    /// Microseconds until some row of whatever account may be sent: whose turn it is is known with the
    /// token only. `None` when nothing waits but what was appended signed out.
    fn rest_us(&self, connection: &Connection, now_us: i64) -> Result<Option<i64>, FlushError> {
        if waiting::is_any_ready(connection)? || !self.caught_up.is_empty() && any_pending(connection)? {
            return Ok(Some(0));
        }
        let tuning = &self.tuning;
        let far_us = |stream: &str| now_us.saturating_add(tuning.backoff(stream).ceiling_us);
        let parked_far_us = now_us.saturating_add(tuning.longest_ceiling_us());
        let parked_from_us = self.parked_rest.until_us(now_us, tuning.lane);
        let mut next_us = None;
        for account in waiting::accounts(connection)? {
            let account = account.as_deref();
            let due_us = if waiting::is_any_beyond(connection, account, &far_us)? {
                Some(now_us)
            } else {
                waiting::next_due_us(connection, account)?
            };
            let parked_us = if waiting::is_parked_beyond(connection, account, parked_far_us)? {
                Some(now_us)
            } else {
                waiting::next_parked_us(connection, account)?
            };
            let parked_us = parked_us.map(|due_us| parked_from_us.map_or(due_us, |from| from.max(due_us)));
            next_us = [next_us, due_us, parked_us].into_iter().flatten().min();
        }
        Ok(next_us.map(|due_us: i64| due_us.saturating_sub(now_us).max(0)))
    }

    /// The disk was full when the last answer came: were it posted again first, the same events would
    /// go up for as long as it is.
    fn record_what_is_left(&mut self) -> Result<(), FlushError> {
        if self.unrecorded.is_empty() {
            return Ok(());
        }
        self.settle(self.unrecorded.clone())?;
        self.unrecorded.clear();
        Ok(())
    }

    /// A token came, and with it the account whose rows go.
    pub(crate) fn authorized(&mut self, pass: &mut Pass, credentials: Credentials) -> Result<(), FlushError> {
        let is_same = pass.credentials.as_ref().is_some_and(|old| old.account == credentials.account);
        self.outbox.inner.note_account(credentials.account.clone());
        pass.credentials = Some(credentials);
        if pass.account().as_deref() == Some("") {
            // Nobody is signed in, and what was appended so waits for its owner.
            pass.drop_work();
            pass.step = Step::End(PassEnd::Done);
            return Ok(());
        }
        if is_same {
            pass.step = pass.held.take().map_or(Step::Assemble, Step::Post);
            return Ok(());
        }
        // Rows of one account are never sent as another: whatever was assembled is put back.
        pass.drop_work();
        pass.phase = Phase::Ready;
        pass.step = Step::Assemble;
        let account = pass.account();
        if pass.judged.contains(&account) {
            return Ok(());
        }
        pass.judged.push(account.clone());
        let (tuning, start_us) = (&self.tuning, pass.start_us);
        let mut connection = self.outbox.inner.flusher();
        let far_us = |stream: &str| start_us.saturating_add(tuning.backoff(stream).ceiling_us);
        promote::far(&mut connection, account.as_deref(), tuning.batch_size, &far_us)?;
        let far_us = start_us.saturating_add(tuning.longest_ceiling_us());
        promote::pull_parked(&connection, account.as_deref(), far_us, start_us)?;
        Ok(())
    }
}

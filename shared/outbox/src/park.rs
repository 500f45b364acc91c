//! Parking: a row that fails by itself is put aside with its reason, never deleted, and later rides
//! with parked rows only.

use crate::assemble::Unsendable;
use crate::error::FlushError;
use crate::flush::FlushCore;
use crate::pass::{Pass, Phase, Suspect};
use crate::settle::{Fate, settle_by_seq};

impl FlushCore {
    /// Rows that no server could read: they aren't sent at all, but looked at again now and then.
    pub(crate) fn park_unsendable(
        &mut self,
        pass: &mut Pass,
        rows: Vec<Unsendable>,
    ) -> Result<(), FlushError> {
        if rows.is_empty() {
            return Ok(());
        }
        if pass.phase == Phase::Ready {
            pass.report.parked += rows.len() as u64;
        }
        let mut fates = Vec::with_capacity(rows.len());
        for row in rows {
            let due_us = self.due_us(pass, &row.stream, row.attempt_count);
            fates.push((row.seq, Fate::Park { due_us, reason: row.why.to_owned() }));
        }
        // Such a row may have no event id to name it by.
        Ok(settle_by_seq(&mut self.outbox.inner.flusher(), fates)?)
    }

    /// The rows are at fault, not the lane: there was a success, or there is nothing left.
    pub(crate) fn park_suspects(&mut self, pass: &mut Pass) -> Result<(), FlushError> {
        let suspects = std::mem::take(&mut pass.suspects);
        self.park(pass, suspects)
    }

    pub(crate) fn park(&mut self, pass: &mut Pass, suspects: Vec<Suspect>) -> Result<(), FlushError> {
        if suspects.is_empty() {
            return Ok(());
        }
        if pass.phase == Phase::Ready {
            pass.report.parked += suspects.len() as u64;
        }
        let mut fates = Vec::with_capacity(suspects.len());
        for suspect in suspects {
            pass.keep(&suspect.row);
            let due_us = self.due_us(pass, &suspect.row.stream, suspect.row.attempt_count);
            let reason = format!("server answers {} to this event alone", suspect.status);
            fates.push((suspect.row.event_id, Fate::Park { due_us, reason }));
        }
        self.settle(fates)
    }

    /// However many rows are parked, few are tried while all of them fail.
    pub(crate) fn hold_parked(&mut self) {
        let (now_us, random) = (self.now_us(), self.rng.f64());
        self.parked_rest.begin(now_us, self.tuning.lane, random);
    }
}

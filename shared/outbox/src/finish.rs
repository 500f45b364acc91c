//! The end of a pass: what is written down, how long to wait.

use crate::count;
use crate::error::FlushError;
use crate::flush::{FlushCore, duration};
use crate::options::micros;
use crate::pass::{Pass, Phase, Step};
use crate::report::{BackoffChange, FlushReport, LaneFault, PassEnd};
use crate::settle::{Fate, settle, sweep};
use crate::waiting;

impl FlushCore {
    pub(crate) fn settle(&self, fates: Vec<(String, Fate)>) -> Result<(), FlushError> {
        let mut connection = self.outbox.inner.flusher();
        let fates = fates.iter().map(|(event_id, fate)| (event_id.as_str(), fate.clone()));
        Ok(settle(&mut connection, fates, self.now_us())?)
    }

    /// When a row that failed again is due: always after this pass, even when the clock was set back.
    pub(crate) fn due_us(&mut self, pass: &Pass, stream: &str, attempts: i64) -> i64 {
        let delay_us = self.tuning.backoff(stream).delay_us(attempts.saturating_add(1), self.rng.f64());
        self.now_us().max(pass.start_us).saturating_add(delay_us.max(1))
    }

    /// A fault of the lane: no row is touched, nothing is sent for a while.
    pub(crate) fn fail(
        &mut self,
        pass: &mut Pass,
        fault: LaneFault,
        retry_after_us: Option<i64>,
    ) -> Result<(), FlushError> {
        if let LaneFault::Shape(_) = fault {
            let suspects = std::mem::take(&mut pass.suspects);
            if pass.phase == Phase::Ready {
                self.accused.add(suspects);
            }
        }
        pass.drop_work();
        let (backoff, random, now_us) = (self.tuning.lane, self.rng.f64(), self.now_us());
        let own = |failures| backoff.delay_us(failures, random);
        let wait_us = self.lane.fail(&self.outbox.inner.flusher(), now_us, own, retry_after_us)?;
        self.outbox.inner.note_fault(fault.clone(), now_us.saturating_add(wait_us));
        pass.report.backoff = Some(BackoffChange::Entered(duration(wait_us)));
        pass.step = Step::End(PassEnd::Failed(fault));
        Ok(())
    }

    /// The report; the pass lets go of its lock here.
    pub(crate) fn finish(&mut self, mut pass: Box<Pass>) -> Result<FlushReport, FlushError> {
        let now_us = self.now_us();
        let mut connection = self.outbox.inner.flusher();
        count::pending_and_count_on(&mut connection)?;
        sweep(&connection, now_us, micros(self.outbox.inner.acked_retention))?;
        let wait_us = match self.lane.wait_us(&connection, now_us, self.tuning.lane)? {
            Some(wait_us) => Some(wait_us),
            None => {
                let account = pass.account();
                let parked_from_us = self.parked_rest.until_us(now_us, self.tuning.lane);
                let parked_us = waiting::next_parked_us(&connection, account.as_deref())?
                    .map(|due_us| parked_from_us.map_or(due_us, |from_us| from_us.max(due_us)));
                [parked_us, waiting::next_due_us(&connection, account.as_deref())?]
                    .into_iter()
                    .flatten()
                    .min()
                    .map(|due_us| due_us.saturating_sub(now_us).max(0))
            }
        };
        pass.report.wait = wait_us.map(duration);
        pass.report.behind = pass.resting.iter().cloned().collect();
        drop(connection);
        self.outbox.inner.refresh_status()?;
        Ok(pass.report)
    }
}

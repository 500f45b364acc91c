//! Which slice a pass posts next.

use std::collections::BTreeSet;

use crate::answer::LONE_FAILURES;
use crate::assemble::{self, Pick, Places};
use crate::encode::Slice;
use crate::error::FlushError;
use crate::flush::FlushCore;
use crate::pass::{Pass, Phase, Step};
use crate::promote;
use crate::report::PassEnd;

impl FlushCore {
    /// The next slice to post, or the end.
    pub(crate) fn assemble(&mut self, pass: &mut Pass) -> Result<(), FlushError> {
        let account = pass.account();
        loop {
            if self.is_probe_due(pass)
                && let Some(slice) = self.probe(pass, account.as_deref())?
            {
                pass.step = Step::Post(slice);
                return Ok(());
            }
            // After a row failed by itself the largest part left tells soonest whether it was the row.
            let next = if pass.suspects.is_empty() || pass.stack.is_empty() {
                pass.stack.pop()
            } else {
                Some(pass.stack.remove(0))
            };
            if let Some(slice) = next {
                pass.step = Step::Post(slice);
                return Ok(());
            }
            let limit = self.ceiling.cap(self.tuning.batch_size);
            let (slice, unsendable) = match pass.phase {
                Phase::Ready => {
                    self.promote(pass, account.as_deref())?;
                    let skip: BTreeSet<i64> = pass.suspect_seqs().chain(self.accused.set_aside()).collect();
                    let places = |stream: &str| self.places(pass, stream);
                    let pick = Pick { account: account.as_deref(), limit, places: &places, skip: &skip };
                    assemble::ready(&self.outbox.inner.flusher(), &pick)?
                }
                Phase::Parked if self.parked_rest.runs(pass.start_us, self.tuning.lane) => (None, Vec::new()),
                Phase::Parked => {
                    let connection = self.outbox.inner.flusher();
                    assemble::parked(&connection, account.as_deref(), pass.start_us, limit)?
                }
            };
            let is_none = slice.is_none() && unsendable.is_empty();
            self.park_unsendable(pass, unsendable)?;
            match slice {
                Some(slice) => {
                    pass.step = Step::Post(slice);
                    return Ok(());
                }
                None if !is_none => {}
                // Nothing else is left to try the lane with.
                None if pass.phase == Phase::Ready && self.accused.call_back() => {}
                None if pass.phase == Phase::Ready => {
                    self.park_suspects(pass)?;
                    pass.phase = Phase::Parked;
                }
                None => {
                    self.park_suspects(pass)?;
                    pass.step = Step::End(PassEnd::Done);
                    return Ok(());
                }
            }
        }
    }

    /// A stream the server defers whole would otherwise go up whole, each time it falls due.
    fn places(&self, pass: &Pass, stream: &str) -> Places {
        if pass.resting.contains(stream) {
            return Places::None;
        }
        if self.deferring.contains(stream) {
            return Places::Probe;
        }
        Places::Upto(self.tuning.caps.get(stream).copied().unwrap_or(usize::MAX))
    }

    /// After two single rows failed the third is to be one of another batch: if that passes, the rows are
    /// at fault, and not the lane. A whole batch of bad rows must not hold up what stands behind it.
    fn is_probe_due(&self, pass: &Pass) -> bool {
        pass.phase == Phase::Ready && !pass.suspects.is_empty() && self.lone_failures + 1 == LONE_FAILURES
    }

    fn probe(&self, pass: &Pass, account: Option<&str>) -> Result<Option<Slice>, FlushError> {
        let in_hand = pass.stack.iter().flat_map(|slice| slice.rows.iter().map(|row| row.seq));
        let skip: BTreeSet<i64> =
            in_hand.chain(pass.suspect_seqs()).chain(self.accused.set_aside()).collect();
        let places = |stream: &str| self.places(pass, stream);
        let pick = Pick { account, limit: 1, places: &places, skip: &skip };
        Ok(assemble::newest(&self.outbox.inner.flusher(), &pick)?)
    }

    /// Makes rows ready whose time has come, and those of streams the server has caught up with.
    fn promote(&mut self, pass: &Pass, account: Option<&str>) -> Result<(), FlushError> {
        let mut connection = self.outbox.inner.flusher();
        let limit = self.tuning.batch_size;
        promote::due(&mut connection, account, limit, pass.start_us)?;
        let mut done = Vec::new();
        for stream in &self.caught_up {
            let kept = pass.kept.get(stream).copied();
            if !promote::stream(&mut connection, account, stream, limit, kept)? {
                done.push(stream.clone());
            }
        }
        for stream in done {
            self.caught_up.remove(&stream);
        }
        Ok(())
    }
}

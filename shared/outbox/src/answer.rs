//! What an answer means for the rows that were posted.
//!
//! Three classes of fault: the token (401, 403) is refreshed once and the batch sent again; the
//! shape (400, 413) is narrowed down to the row at fault; everything else is tried again later.
//! Deletion takes a verdict, never a status.

use std::collections::BTreeMap;

use eventlane_contracts::wire;

use crate::encode::Slice;
use crate::error::{FlushError, TransportError};
use crate::flush::FlushCore;
use crate::lane::Rest;
use crate::pass::{Pass, Phase, Step, Suspect};
use crate::report::{BackoffChange, BatchReport, EventVerdict, LaneFault, PassEnd};
use crate::retry_after;
use crate::settle::Fate;
use crate::transport::PostResponse;
use crate::verdicts::Verdicts;

/// Single rows refused as requests in a row after which the lane is suspected, not the rows.
pub(crate) const LONE_FAILURES: usize = 3;

/// `last_reason` of a row that an answer left out or contradicted itself on.
const UNANSWERED: &str = "answer had no usable verdict on this event";

/// What an answer said of one stream's events.
#[derive(Default)]
struct Heard {
    is_acked: bool,
    /// Some verdict was not `deferred`.
    is_final: bool,
}

impl FlushCore {
    pub(crate) fn answered(
        &mut self,
        pass: &mut Pass,
        slice: Slice,
        outcome: Result<PostResponse, TransportError>,
    ) -> Result<Option<BatchReport>, FlushError> {
        let response = match outcome {
            Ok(response) => response,
            Err(error) => {
                self.ceiling.failed(slice.rows.len(), slice.body.len());
                self.fail(pass, LaneFault::Transport(error), None)?;
                return Ok(None);
            }
        };
        let fault = match response.status {
            200 => match Verdicts::parse(&response.body) {
                Some(verdicts) => return self.judged(pass, slice, &verdicts).map(Some),
                None => LaneFault::NotTheContract,
            },
            401 | 403 if !pass.refreshed => {
                pass.refreshed = true;
                pass.held = Some(slice);
                pass.step = Step::Authorize { refresh: true };
                return Ok(None);
            }
            status @ (401 | 403) => LaneFault::Auth(status),
            status @ (400 | 413) => {
                self.narrow(pass, slice, status)?;
                return Ok(None);
            }
            // No status beyond these is anything but "later": a redirect is no success either.
            status => LaneFault::Status(status),
        };
        self.ceiling.failed(slice.rows.len(), slice.body.len());
        let now_us = self.now_us();
        let date = response.date.as_deref();
        let wait_us = response.retry_after.and_then(|value| retry_after::parse(&value, date, now_us));
        self.fail(pass, fault, wait_us)?;
        Ok(None)
    }

    fn judged(
        &mut self,
        pass: &mut Pass,
        slice: Slice,
        verdicts: &Verdicts,
    ) -> Result<BatchReport, FlushError> {
        let is_kept = !self.outbox.inner.acked_retention.is_zero();
        let mut batch = BatchReport { posted: slice.rows.len() as u64, ..BatchReport::default() };
        let mut fates = Vec::with_capacity(slice.rows.len());
        let mut heard: BTreeMap<&str, Heard> = BTreeMap::new();
        for row in &slice.rows {
            let verdict = verdicts.of(&row.event_id);
            let status = verdict.map(|verdict| verdict.status);
            let reason = verdict.and_then(|verdict| verdict.reason.clone()).unwrap_or_default();
            let fate = match status {
                Some(wire::Status::Acked) if is_kept => Fate::Stamp,
                Some(wire::Status::Acked | wire::Status::Refused | wire::Status::Rejected) => Fate::Delete,
                Some(wire::Status::Deferred) | None => {
                    pass.keep(row);
                    let due_us = self.due_us(pass, &row.stream, row.attempt_count);
                    let reason = if status.is_some() { reason.clone() } else { UNANSWERED.to_owned() };
                    Fate::Keep { due_us, reason }
                }
            };
            match status {
                Some(wire::Status::Acked) => batch.acked += 1,
                Some(wire::Status::Refused) => batch.refused += 1,
                Some(wire::Status::Rejected) => batch.rejected += 1,
                Some(wire::Status::Deferred) => batch.deferred += 1,
                None => batch.unanswered += 1,
            }
            if let Some(status) = status {
                let heard = heard.entry(&row.stream).or_default();
                heard.is_acked |= status == wire::Status::Acked;
                heard.is_final |= status != wire::Status::Deferred;
                if status != wire::Status::Acked {
                    let (event_id, stream) = (row.event_id.clone(), row.stream.clone());
                    batch.verdicts.push(EventVerdict { event_id, stream, status, reason });
                }
            }
            fates.push((row.event_id.clone(), fate));
        }
        if let Err(error) = self.settle(fates.clone()) {
            self.unrecorded = fates;
            return Err(error);
        }
        pass.report.add(&batch);
        if batch.unanswered == batch.posted {
            self.fail(pass, LaneFault::NoVerdict, None)?;
            return Ok(batch);
        }
        for (stream, heard) in heard {
            self.heard_of(pass, stream, heard);
        }
        self.succeeded(pass)?;
        Ok(batch)
    }

    /// What an answer says of a stream as a whole.
    ///
    /// All deferred, it rests for this pass, and later passes try it with a row or two. The first ack
    /// after that: the server has caught up, so its waiting rows need wait no longer. Once a change, or
    /// a single event that is deferred again and again would never back off.
    fn heard_of(&mut self, pass: &mut Pass, stream: &str, heard: Heard) {
        if heard.is_final {
            self.deferring.remove(stream);
        } else {
            pass.resting.insert(stream.to_owned());
            self.deferring.insert(stream.to_owned());
        }
        self.outbox.inner.note_stream(stream, !heard.is_final);
        let was_behind = self.behind.insert(stream.to_owned(), !heard.is_acked).unwrap_or(true);
        if heard.is_acked && was_behind {
            self.caught_up.insert(stream.to_owned());
        }
    }

    fn succeeded(&mut self, pass: &mut Pass) -> Result<(), FlushError> {
        pass.refreshed = false;
        pass.has_success = true;
        if pass.phase == Phase::Parked {
            self.parked_rest = Rest::default();
        }
        self.lone_failures = 0;
        self.ceiling.succeeded();
        self.outbox.inner.note_success();
        if self.lane.succeed(&self.outbox.inner.flusher())? {
            pass.report.backoff = Some(BackoffChange::Cleared);
        }
        self.park_suspects(pass)?;
        let guilty = self.accused.acquit();
        self.park(pass, guilty)
    }

    /// 400 or 413: a smaller request, down to the one row that can't be sent.
    fn narrow(&mut self, pass: &mut Pass, mut slice: Slice, status: u16) -> Result<(), FlushError> {
        let events = slice.rows.len();
        if status == 413 && events > 1 && pass.phase == Phase::Ready {
            self.ceiling.too_large(events);
        }
        if events > 1 {
            let is_whole = pass.stack.is_empty() && pass.phase == Phase::Ready;
            // Too large as a whole: the next batch is smaller from the start. Otherwise both halves
            // are tried, the first one first.
            if status == 400 || !is_whole {
                let (first, second) = slice.halves();
                pass.stack.push(second);
                pass.stack.push(first);
            }
            return Ok(());
        }
        let Some(row) = slice.rows.pop() else { return Ok(()) };
        pass.suspects.push(Suspect { row, status });
        self.lone_failures += 1;
        if self.lone_failures < LONE_FAILURES {
            return Ok(());
        }
        self.lone_failures = 0;
        if pass.phase == Phase::Parked && pass.has_success {
            // The lane is alive, so parked rows are at fault as before; the rest of them rests too.
            self.park_suspects(pass)?;
            self.hold_parked();
            pass.drop_work();
            pass.step = Step::End(PassEnd::Done);
        } else {
            self.fail(pass, LaneFault::Shape(status), None)?;
        }
        Ok(())
    }
}

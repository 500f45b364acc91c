//! The flush without its network: what to do next, and what an answer means.
//!
//! The core reads and settles rows, and decides; it never connects, never sleeps, starts no thread.
//! [`Flusher`](crate::Flusher) drives it with a blocking transport; a host with an event loop of
//! its own can drive it just as well:
//!
//! ```text
//! loop { match core.next_task()? {
//!     Task::Authorize { refresh } => core.on_credentials(get_token(refresh)),
//!     Task::Post(post) => { core.on_answer(http_post(post.request()))?; }
//!     Task::Done(report) => break report,
//! } }
//! ```
//!
//! Invariants: only an explicit, uncontradicted verdict settles a row; a fault of the batch leaves
//! its rows as they are; a row with a verdict is not posted again in the same pass.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use crate::accused::Accused;
use crate::answer::LONE_FAILURES;
use crate::assemble::{self, Pick, Unsendable};
use crate::bounds::is_withdrawn;
use crate::discard::{Discard, discard};
use crate::encode::Slice;
use crate::error::{ConfigError, FlushError, TokenError, TransportError};
use crate::lane::{Ceiling, Lane, Rest};
use crate::options::micros;
use crate::outbox::{Outbox, any_pending};
use crate::pass::{Pass, PassLock, Phase, Step, Suspect};
use crate::report::{BackoffChange, BatchReport, FlushReport, LaneFault, PassEnd};
use crate::settle::{Fate, settle, settle_by_seq, sweep};
use crate::token::Credentials;
use crate::transport::{PostRequest, PostResponse};
use crate::tuning::{FlushOptions, Tuning};

/// What the core wants done.
#[derive(Debug)]
pub enum Task {
    /// Ask the token source, then call [`FlushCore::on_credentials`].
    Authorize {
        /// The last token was refused: a newer one is wanted.
        refresh: bool,
    },
    /// Post this, then call [`FlushCore::on_answer`].
    Post(Post),
    /// The pass is over. The next call of [`FlushCore::next_task`] begins another.
    Done(FlushReport),
}

/// A batch to post.
#[derive(Debug, Clone)]
pub struct Post {
    body: Arc<Vec<u8>>,
    credentials: Option<Credentials>,
}

impl Post {
    /// The request to send.
    #[must_use]
    pub fn request(&self) -> PostRequest<'_> {
        let token = self.credentials.as_ref().and_then(|credentials| credentials.token.as_deref());
        PostRequest { body: &self.body, token }
    }
}

enum Begun {
    Pass(Box<Pass>),
    Nothing(FlushReport),
}

/// The flush core of one outbox.
pub struct FlushCore {
    pub(crate) outbox: Outbox,
    pub(crate) tuning: Tuning,
    pub(crate) lane: Lane,
    pub(crate) ceiling: Ceiling,
    rng: fastrand::Rng,
    pass: Option<Box<Pass>>,
    stopping: bool,
    /// Single rows refused as requests, with no success between; survives the pass.
    pub(crate) lone_failures: usize,
    /// Rows that failed alone in passes that ended as a fault of the lane.
    pub(crate) accused: Accused,
    /// Parked rows rest together while all of them fail, however many there are.
    pub(crate) parked_rest: Rest,
    /// An answer that the store wouldn't take. Written down before anything is posted again.
    pub(crate) unrecorded: Vec<(String, Fate)>,
    /// Whether a stream's last answers deferred all of it. Unknown streams of a fresh process count
    /// as behind: rows may wait from before.
    pub(crate) behind: BTreeMap<String, bool>,
    /// Streams the server has caught up with, whose waiting rows are being promoted.
    pub(crate) caught_up: BTreeSet<String>,
}

impl FlushCore {
    /// A core for `outbox`, of which one should run at a time.
    ///
    /// # Errors
    /// [`ConfigError`] naming every offender of `options`.
    pub fn new(outbox: Outbox, options: &FlushOptions) -> Result<Self, ConfigError> {
        let tuning = Tuning::judge(options, &outbox.inner.registry)?;
        let rng = crate::stamp::jitter(outbox.inner.seed);
        Ok(Self {
            outbox,
            tuning,
            lane: Lane::default(),
            ceiling: Ceiling::default(),
            rng,
            pass: None,
            stopping: false,
            lone_failures: 0,
            accused: Accused::default(),
            parked_rest: Rest::default(),
            unrecorded: Vec::new(),
            behind: BTreeMap::new(),
            caught_up: BTreeSet::new(),
        })
    }

    /// What to do next. Asked again without an answer in between, it says the same.
    ///
    /// # Errors
    /// [`FlushError`] when the outbox or its lock can't be used; the pass is over then.
    pub fn next_task(&mut self) -> Result<Task, FlushError> {
        let mut pass = match self.pass.take() {
            Some(pass) => pass,
            None => match self.begin()? {
                Begun::Pass(pass) => pass,
                Begun::Nothing(report) => return Ok(Task::Done(report)),
            },
        };
        loop {
            match &pass.step {
                Step::Assemble if self.stopping => pass.step = Step::End(PassEnd::Stopped),
                Step::Assemble => self.assemble(&mut pass)?,
                Step::Authorize { refresh } => {
                    let refresh = *refresh;
                    self.pass = Some(pass);
                    return Ok(Task::Authorize { refresh });
                }
                Step::Post(slice) => {
                    let post = Post { body: Arc::clone(&slice.body), credentials: pass.credentials.clone() };
                    self.pass = Some(pass);
                    return Ok(Task::Post(post));
                }
                Step::End(end) => {
                    pass.report.end = end.clone();
                    return self.finish(pass).map(Task::Done);
                }
            }
        }
    }

    /// Takes what the token source said. Ignored when it wasn't asked.
    ///
    /// # Errors
    /// [`FlushError`] when the outbox can't be used; the pass is over then.
    pub fn on_credentials(&mut self, outcome: Result<Credentials, TokenError>) -> Result<(), FlushError> {
        let Some(mut pass) = self.pass.take() else { return Ok(()) };
        if let Step::Authorize { .. } = pass.step {
            match outcome {
                Ok(credentials) => self.authorized(&mut pass, credentials)?,
                Err(error) => self.fail(&mut pass, LaneFault::Token(error), None)?,
            }
        }
        self.pass = Some(pass);
        Ok(())
    }

    /// Takes what came of the last post; a report on its events when the answer had verdicts.
    /// Ignored when nothing was posted.
    ///
    /// # Errors
    /// [`FlushError`] when the outbox can't be used; the pass is over then, and what wasn't recorded
    /// is sent again.
    pub fn on_answer(
        &mut self,
        outcome: Result<PostResponse, TransportError>,
    ) -> Result<Option<BatchReport>, FlushError> {
        let Some(mut pass) = self.pass.take() else { return Ok(None) };
        let mut batch = None;
        match std::mem::replace(&mut pass.step, Step::Assemble) {
            Step::Post(slice) => {
                pass.report.requests += 1;
                batch = self.answered(&mut pass, slice, outcome)?;
            }
            step => pass.step = step,
        }
        self.pass = Some(pass);
        Ok(batch)
    }

    /// The network is back: ends the lane's own backoff, never a server's `Retry-After`.
    pub fn online(&mut self) {
        self.lane.online();
    }

    /// Ends the running pass at its next batch boundary.
    pub fn stop(&mut self) {
        self.stopping = self.pass.is_some();
    }

    /// A new pass, or the report of one that has nothing to do.
    fn begin(&mut self) -> Result<Begun, FlushError> {
        self.stopping = false;
        let now_us = self.now_us();
        let Some(lock) = PassLock::try_take(&self.outbox.inner.path)? else {
            return Ok(Begun::Nothing(FlushReport { end: PassEnd::Elsewhere, ..FlushReport::default() }));
        };
        self.record_what_is_left()?;
        let mut connection = self.outbox.inner.flusher();
        if is_withdrawn(&connection)? {
            // Whatever the switch itself didn't get done.
            discard(&mut connection, Discard::All)?;
        }
        if let Some(wait_us) = self.lane.wait_us(&connection, now_us, self.tuning.lane)? {
            let wait = Some(duration(wait_us));
            let report = FlushReport { end: PassEnd::BackingOff, wait, ..FlushReport::default() };
            return Ok(Begun::Nothing(report));
        }
        if any_pending(&connection)? {
            return Ok(Begun::Pass(Box::new(Pass::new(now_us, lock))));
        }
        // No token is asked for when there is nothing to send.
        sweep(&connection, now_us, micros(self.outbox.inner.acked_retention))?;
        drop(connection);
        self.outbox.inner.refresh_status()?;
        Ok(Begun::Nothing(FlushReport::default()))
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

    fn authorized(&mut self, pass: &mut Pass, credentials: Credentials) -> Result<(), FlushError> {
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
        assemble::promote_far(&mut connection, account.as_deref(), tuning.batch_size, &far_us)?;
        let longest = tuning.streams.values().chain([&tuning.lane]).map(|backoff| backoff.ceiling_us).max();
        let far_us = start_us.saturating_add(longest.unwrap_or(tuning.lane.ceiling_us));
        assemble::pull_parked(&connection, account.as_deref(), far_us, start_us)?;
        Ok(())
    }

    /// The next slice to post, or the end.
    fn assemble(&mut self, pass: &mut Pass) -> Result<(), FlushError> {
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
                    let skip: Vec<i64> = pass.suspect_seqs().chain(self.accused.set_aside()).collect();
                    let caps = &self.tuning.caps;
                    let pick = Pick { account: account.as_deref(), limit, caps, skip: &skip };
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

    /// After two single rows failed the third is to be one of another batch: if that passes, the rows are
    /// at fault, and not the lane. A whole batch of bad rows must not hold up what stands behind it.
    fn is_probe_due(&self, pass: &Pass) -> bool {
        pass.phase == Phase::Ready && !pass.suspects.is_empty() && self.lone_failures + 1 == LONE_FAILURES
    }

    fn probe(&self, pass: &Pass, account: Option<&str>) -> Result<Option<Slice>, FlushError> {
        let in_hand = pass.stack.iter().flat_map(|slice| slice.rows.iter().map(|row| row.seq));
        let skip: BTreeSet<i64> =
            in_hand.chain(pass.suspect_seqs()).chain(self.accused.set_aside()).collect();
        Ok(assemble::newest(&self.outbox.inner.flusher(), account, &skip)?)
    }

    fn promote(&mut self, pass: &Pass, account: Option<&str>) -> Result<(), FlushError> {
        let mut connection = self.outbox.inner.flusher();
        let limit = self.tuning.batch_size;
        assemble::promote_due(&mut connection, account, limit, pass.start_us)?;
        let mut done = Vec::new();
        for stream in &self.caught_up {
            let kept = pass.kept.get(stream).copied();
            if !assemble::promote_stream(&mut connection, account, stream, limit, kept)? {
                done.push(stream.clone());
            }
        }
        for stream in done {
            self.caught_up.remove(&stream);
        }
        Ok(())
    }

    fn park_unsendable(&mut self, pass: &mut Pass, rows: Vec<Unsendable>) -> Result<(), FlushError> {
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

    fn finish(&mut self, mut pass: Box<Pass>) -> Result<FlushReport, FlushError> {
        let now_us = self.now_us();
        let connection = self.outbox.inner.flusher();
        sweep(&connection, now_us, micros(self.outbox.inner.acked_retention))?;
        let wait_us = match self.lane.wait_us(&connection, now_us, self.tuning.lane)? {
            Some(wait_us) => Some(wait_us),
            None => {
                let parked_from_us = self.parked_rest.until_us(now_us, self.tuning.lane);
                assemble::next_due_us(&connection, pass.account().as_deref(), parked_from_us)?
                    .map(|due_us| due_us.saturating_sub(now_us).max(0))
            }
        };
        pass.report.wait = wait_us.map(duration);
        drop(connection);
        self.outbox.inner.refresh_status()?;
        Ok(pass.report)
    }

    pub(crate) fn now_us(&self) -> i64 {
        self.outbox.inner.clock.now_us()
    }
}

impl std::fmt::Debug for FlushCore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FlushCore").field("outbox", &self.outbox).finish_non_exhaustive()
    }
}

fn duration(us: i64) -> Duration {
    Duration::from_micros(u64::try_from(us).unwrap_or(0))
}

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
use crate::begin::Begun;
use crate::error::{ConfigError, FlushError, TokenError, TransportError};
use crate::lane::{Ceiling, Lane, Rest};
use crate::lock::PassLock;
use crate::outbox::Outbox;
use crate::pass::{Pass, Step};
use crate::report::{BatchReport, FlushReport, LaneFault, PassEnd};
use crate::settle::Fate;
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

/// The flush core of one outbox.
pub struct FlushCore {
    pub(crate) outbox: Outbox,
    pub(crate) tuning: Tuning,
    pub(crate) lane: Lane,
    pub(crate) ceiling: Ceiling,
    pub(crate) lock: PassLock,
    pub(crate) rng: fastrand::Rng,
    pass: Option<Box<Pass>>,
    pub(crate) stopping: bool,
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
    /// Streams of which the last answer deferred all it was asked about: tried with a row or two.
    pub(crate) deferring: BTreeSet<String>,
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
            lock: PassLock::default(),
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
            deferring: BTreeSet::new(),
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
                Step::Assemble if self.stopping || !pass.lock.is_held() => {
                    pass.step = Step::End(PassEnd::Stopped)
                }
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

    /// The app is about to be suspended, perhaps in the middle of a request: lets go of the lock on the
    /// file at once, so that another process can flush. The running pass ends at its next batch
    /// boundary, and settles what is answered until then; none begins until [`resume`](Self::resume).
    pub fn suspend(&self) {
        self.lock.suspend();
    }

    /// Ends a suspension.
    pub fn resume(&self) {
        self.lock.resume();
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

pub(crate) fn duration(us: i64) -> Duration {
    Duration::from_micros(u64::try_from(us).unwrap_or(0))
}

//! One pass, from its token to its report.

use std::collections::{BTreeMap, BTreeSet};

use crate::encode::{Row, Slice};
use crate::lock::Held;
use crate::report::{FlushReport, PassEnd};
use crate::token::Credentials;

/// What a pass does next.
pub(crate) enum Step {
    Authorize { refresh: bool },
    Assemble,
    Post(Slice),
    End(PassEnd),
}

/// Which rows a pass is at.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Ready,
    /// Parked rows ride with parked rows only, after all others.
    Parked,
}

/// A row that failed as a request of its own. Parked only once it is clear that the row is at fault
/// and not the lane.
pub(crate) struct Suspect {
    pub(crate) row: Row,
    pub(crate) status: u16,
}

pub(crate) struct Pass {
    /// Rows kept by this pass are due after it, so none is posted twice in it.
    pub(crate) start_us: i64,
    pub(crate) step: Step,
    pub(crate) phase: Phase,
    pub(crate) credentials: Option<Credentials>,
    /// The token was refreshed since the last answer with verdicts.
    pub(crate) refreshed: bool,
    /// Waits for the refreshed token.
    pub(crate) held: Option<Slice>,
    /// Halves still to post.
    pub(crate) stack: Vec<Slice>,
    pub(crate) suspects: Vec<Suspect>,
    /// An answer with verdicts came in this pass.
    pub(crate) has_success: bool,
    /// Accounts whose due times were judged in this pass; once each, so that no row is posted twice.
    pub(crate) judged: Vec<Option<String>>,
    /// First and last `seq` kept in this pass, by stream.
    pub(crate) kept: BTreeMap<String, (i64, i64)>,
    pub(crate) report: FlushReport,
    /// Streams that this pass sends no more of: an answer deferred all it was asked about.
    pub(crate) resting: BTreeSet<String>,
    pub(crate) lock: Held,
}

impl Pass {
    pub(crate) fn new(start_us: i64, lock: Held) -> Self {
        Self {
            start_us,
            step: Step::Authorize { refresh: false },
            phase: Phase::Ready,
            credentials: None,
            refreshed: false,
            held: None,
            stack: Vec::new(),
            suspects: Vec::new(),
            has_success: false,
            judged: Vec::new(),
            kept: BTreeMap::new(),
            report: FlushReport::default(),
            resting: BTreeSet::new(),
            lock,
        }
    }

    pub(crate) fn account(&self) -> Option<String> {
        self.credentials.as_ref().and_then(|credentials| credentials.account.clone())
    }

    pub(crate) fn keep(&mut self, row: &Row) {
        self.kept
            .entry(row.stream.clone())
            .and_modify(|(first, last)| {
                *first = row.seq.min(*first);
                *last = row.seq.max(*last);
            })
            .or_insert((row.seq, row.seq));
    }

    pub(crate) fn suspect_seqs(&self) -> impl Iterator<Item = i64> {
        self.suspects.iter().map(|suspect| suspect.row.seq)
    }

    /// Forgets what was to be posted; the rows themselves stay as they are.
    pub(crate) fn drop_work(&mut self) {
        self.held = None;
        self.stack.clear();
        self.suspects.clear();
    }
}

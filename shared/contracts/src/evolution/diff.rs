//! What differs between two locks, and how bad that is.

use std::collections::{BTreeMap, BTreeSet};

use crate::judge::{Verdict, judge};
use crate::lock::{Lock, LockedStream};

/// How a change may go out. The worst one wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grade {
    /// Every event that was taken still is.
    Compatible,
    /// Nobody can tell: a person has to look.
    Risky,
    /// Events that were taken no longer are.
    Breaking,
}

impl Grade {
    /// A stable word for reports.
    #[must_use]
    pub fn tag(self) -> &'static str {
        match self {
            Self::Compatible => "compatible",
            Self::Risky => "risky",
            Self::Breaking => "breaking",
        }
    }
}

/// An identity before and after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdentityChange {
    /// Field to claim path, before.
    pub old: BTreeMap<String, Vec<String>>,
    /// Field to claim path, after.
    pub new: BTreeMap<String, Vec<String>>,
}

/// A revision before and after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RevisionChange {
    /// Before.
    pub old: Option<u32>,
    /// After.
    pub new: Option<u32>,
}

/// What became of one stream.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// The stream is new.
    Added,
    /// The stream is gone.
    Removed,
    /// Something about it changed; at least one of these is there.
    Changed {
        /// The judge's word on the payload contract.
        payload: Option<Verdict>,
        /// Which claims stamp it.
        identity: Option<IdentityChange>,
        /// The acceptance logic's revision.
        revision: Option<RevisionChange>,
    },
}

impl Change {
    /// The change's grade: the worst of its parts.
    ///
    /// A payload that was proved to be widened is compatible, one with a counter-example is
    /// breaking, and what the judge doesn't know is risky, as are identity and revision.
    #[must_use]
    pub fn grade(&self) -> Grade {
        match self {
            Self::Added => Grade::Compatible,
            Self::Removed => Grade::Breaking,
            Self::Changed { payload, identity, revision } => {
                let payload = match payload {
                    None | Some(Verdict::Same | Verdict::Widened) => Grade::Compatible,
                    Some(Verdict::Unknown { .. }) => Grade::Risky,
                    Some(Verdict::Narrowed { .. }) => Grade::Breaking,
                };
                let declared = identity.is_some() || revision.is_some();
                payload.max(if declared { Grade::Risky } else { Grade::Compatible })
            }
        }
    }

    fn between(old: &LockedStream, new: &LockedStream) -> Option<Self> {
        if old.hash == new.hash {
            return None;
        }
        let payload = (old.payload != new.payload).then(|| judge(&old.payload, &new.payload));
        let identity = (old.identity != new.identity)
            .then(|| IdentityChange { old: old.identity.clone(), new: new.identity.clone() });
        let revision =
            (old.revision != new.revision).then_some(RevisionChange { old: old.revision, new: new.revision });
        Some(Self::Changed { payload, identity, revision })
    }
}

/// All changes between two locks, by stream.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Diff {
    /// The streams that changed.
    pub changes: BTreeMap<String, Change>,
}

impl Diff {
    /// What happened on the way from `old` to `new`; payloads that changed are put to the judge.
    #[must_use]
    pub fn between(old: &Lock, new: &Lock) -> Self {
        let names: BTreeSet<&String> = old.streams.keys().chain(new.streams.keys()).collect();
        let change = |name: &str| match (old.streams.get(name), new.streams.get(name)) {
            (Some(old), Some(new)) => Change::between(old, new),
            (None, Some(_)) => Some(Change::Added),
            (Some(_), None) => Some(Change::Removed),
            (None, None) => None,
        };
        Self { changes: names.into_iter().filter_map(|name| Some((name.clone(), change(name)?))).collect() }
    }

    /// The worst grade; compatible when nothing changed.
    #[must_use]
    pub fn grade(&self) -> Grade {
        self.changes.values().map(Change::grade).max().unwrap_or(Grade::Compatible)
    }

    /// Whether nothing changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }
}

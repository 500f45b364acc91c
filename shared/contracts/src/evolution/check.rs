//! `registry check`: the code against its lock, the code against an older lock.

use super::blind_spot::{BlindSpot, blind_spots};
use super::diff::{Diff, Grade};
use crate::{Lock, Registry};

/// The order in which a change goes out: an ingest that knows more than its clients loses nothing.
pub const DEPLOY_ORDER: [&str; 2] = ["ingest", "clients"];

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The lock is that of the code, and nothing breaks.
    Fine,
    /// The lock is not that of the code.
    Stale,
    /// Against the older lock something breaks, whether or not the lock is stale too.
    Breaking,
}

impl Outcome {
    /// A stable word for reports.
    #[must_use]
    pub fn tag(self) -> &'static str {
        match self {
            Self::Fine => "fine",
            Self::Stale => "stale",
            Self::Breaking => "breaking",
        }
    }

    /// The exit code of `eventlane registry check`; 1 and 2 are a failure and a wrong command line.
    #[must_use]
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Fine => 0,
            Self::Stale => 3,
            Self::Breaking => 4,
        }
    }
}

/// A registry held against its lock, and against an older one.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// What the lock doesn't say of the code yet.
    pub stale: Diff,
    /// What changed since the older lock.
    pub against: Option<Diff>,
    /// Where a Rust type refuses what its schema takes.
    pub blind_spots: Vec<BlindSpot>,
}

impl Check {
    /// Holds the registry against its lock, and against an older lock where one is given.
    #[must_use]
    pub fn run(registry: &Registry, lock: &Lock, against: Option<&Lock>) -> Self {
        let code = Lock::of(registry);
        Self {
            stale: Diff::between(lock, &code),
            against: against.map(|against| Diff::between(against, &code)),
            blind_spots: blind_spots(registry),
        }
    }

    /// How it ended. What breaks outweighs what is stale.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        if self.against.as_ref().is_some_and(|diff| diff.grade() == Grade::Breaking) {
            Outcome::Breaking
        } else if self.stale.is_empty() {
            Outcome::Fine
        } else {
            Outcome::Stale
        }
    }
}

//! Rate limit: how many requests one subject may send, judged before a byte of the body is read.
//!
//! Each subject has a bucket of tokens, a request takes one, and they come back evenly. The buckets
//! are this process' own: a service of `n` processes takes up to `n` times the limit. That keeps one
//! client from drowning the others; it is no quota.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use eventlane_contracts::{ClaimPath, Clock};

use crate::Claims;

/// Most requests a minute that can be set: beyond it there is nothing to limit.
const REQUESTS_PER_MINUTE: u32 = 60_000;

/// Most requests at once that can be set.
const BURST: u32 = 10_000;

/// Most subjects that can be set: some 15 MB of them.
const SUBJECTS: usize = 100_000;

/// The settings of a [`RateLimit`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RateLimitSettings {
    /// Requests a minute, 1 to 60,000.
    pub requests_per_minute: u32,
    /// Requests at once after a quiet time, 1 to 10,000.
    pub burst: u32,
    /// Subjects remembered, 1 to 100,000; beyond it those are forgotten first who were quiet longest.
    pub subjects: usize,
    /// The verified claim that is the subject. Tokens without it share one bucket.
    pub claim: ClaimPath,
}

impl Default for RateLimitSettings {
    /// 60 requests a minute, 60 at once, 10,000 subjects, the claim `sub`.
    fn default() -> Self {
        Self { requests_per_minute: 60, burst: 60, subjects: 10_000, claim: ClaimPath::new(["sub"]) }
    }
}

/// Every offender of the settings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the rate limit is not sound:\n- {}", .0.join("\n- "))]
pub struct RateLimitError(Vec<String>);

/// Counts requests a subject. Subjects don't print.
pub struct RateLimit {
    settings: RateLimitSettings,
    clock: Arc<dyn Clock>,
    /// When each subject's bucket is full again, unix microseconds.
    full_at_us: Mutex<HashMap<Option<String>, i64>>,
}

impl RateLimit {
    /// A limit by these settings, with every bucket full.
    ///
    /// # Errors
    /// [`RateLimitError`] with every number that is out of its range.
    pub fn new(settings: RateLimitSettings, clock: Arc<dyn Clock>) -> Result<Self, RateLimitError> {
        let mut faults = Vec::new();
        let mut judge = |name: &str, value: u64, most: u64| {
            if !(1..=most).contains(&value) {
                faults.push(format!("{name} is {value}, it must be 1 to {most}"));
            }
        };
        judge("requests a minute", settings.requests_per_minute.into(), REQUESTS_PER_MINUTE.into());
        judge("requests at once", settings.burst.into(), BURST.into());
        judge("subjects", settings.subjects as u64, SUBJECTS as u64);
        if settings.claim.segments().iter().any(|segment| segment.trim().is_empty()) {
            faults.push("the claim's path has an empty segment".to_owned());
        }
        if faults.is_empty() {
            Ok(Self { settings, clock, full_at_us: Mutex::default() })
        } else {
            Err(RateLimitError(faults))
        }
    }

    /// Takes a token of this subject's, or says how long until there is one, in whole seconds.
    pub(crate) fn take(&self, claims: &Claims) -> Result<(), Duration> {
        let subject = self.settings.claim.text(claims.as_map()).ok();
        let now = self.clock.now_us();
        let each = 60_000_000 / i64::from(self.settings.requests_per_minute);
        let whole = each * i64::from(self.settings.burst);
        let mut buckets = self.full_at_us.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= self.settings.subjects && !buckets.contains_key(&subject) {
            make_room(&mut buckets, now, self.settings.subjects);
        }
        let full_at = buckets.entry(subject).or_insert(now);
        // A bucket takes `whole` to fill, no more: a clock that was set back makes nobody wait longer.
        *full_at = (*full_at).clamp(now, now + whole);
        let next = *full_at + each;
        if next > now + whole {
            let wait = next - (now + whole);
            return Err(Duration::from_secs(u64::try_from((wait + 999_999) / 1_000_000).unwrap_or(1).max(1)));
        }
        *full_at = next;
        Ok(())
    }
}

/// Forgets full buckets, which hold nothing to know; where there are none, the one that is nearest to
/// full.
fn make_room(buckets: &mut HashMap<Option<String>, i64>, now: i64, subjects: usize) {
    buckets.retain(|_, full_at| *full_at > now);
    if buckets.len() >= subjects
        && let Some(fullest) = buckets.iter().min_by_key(|(_, full_at)| **full_at).map(|(key, _)| key.clone())
    {
        buckets.remove(&fullest);
    }
}

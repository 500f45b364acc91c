//! Rounds: the part and its limit in turn, the median of each, the spread of their ratios.

use std::time::{Duration, Instant};

/// What the rounds gave.
pub(crate) struct Rounds {
    /// Median time of the part under measure.
    pub(crate) part: Duration,
    /// Median of the rounds' ratios, part by limit.
    pub(crate) ratio: f64,
    /// Half the distance between the 10th and the 90th percentile of the ratios.
    pub(crate) spread: f64,
}

/// Times both in turn, after a round that only warms up.
pub(crate) fn rounds(
    count: usize,
    mut part: impl FnMut() -> Duration,
    mut limit: impl FnMut() -> Duration,
) -> Rounds {
    let (_, _) = (part(), limit());
    let mut parts = Vec::new();
    let mut ratios = Vec::new();
    for round in 0..count {
        // Who goes first changes, so that neither always finds the other's warm caches.
        let (a, b) = if round % 2 == 0 {
            let a = part();
            (a, limit())
        } else {
            let b = limit();
            (part(), b)
        };
        parts.push(a);
        ratios.push(a.as_secs_f64() / b.as_secs_f64().max(f64::MIN_POSITIVE));
    }
    parts.sort_unstable();
    ratios.sort_unstable_by(f64::total_cmp);
    let at = |tenths: usize| ratios[(ratios.len() - 1) * tenths / 10];
    Rounds { part: parts[parts.len() / 2], ratio: at(5), spread: (at(9) - at(1)) / 2.0 }
}

/// The time of one call.
pub(crate) fn time<T>(call: impl FnOnce() -> T) -> Duration {
    let started = Instant::now();
    std::hint::black_box(call());
    started.elapsed()
}

/// Events a second.
pub(crate) fn rate(events: usize, took: Duration) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "counts far below 2^53")]
    let events = events as f64;
    events / took.as_secs_f64()
}

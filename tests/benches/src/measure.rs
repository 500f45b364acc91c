//! Rounds: the part and its limit in turn, the median of each, the spread of their ratios.

use std::time::{Duration, Instant};

/// What the rounds gave.
#[derive(Debug, Clone)]
pub(crate) struct Rounds {
    /// Median time of the part under measure.
    pub(crate) part: Duration,
    /// Median time of the limit.
    pub(crate) limit: Duration,
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
    let (mut parts, mut limits, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
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
        limits.push(b);
        ratios.push(a.as_secs_f64() / b.as_secs_f64().max(f64::MIN_POSITIVE));
    }
    ratios.sort_unstable_by(f64::total_cmp);
    let at = |tenths: usize| ratios[(ratios.len() - 1) * tenths / 10];
    Rounds { part: median(parts), limit: median(limits), ratio: at(5), spread: (at(9) - at(1)) / 2.0 }
}

/// The median of some times, of which there is at least one.
pub(crate) fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// The median time of a call, after one that only warms up.
pub(crate) fn median_of(count: usize, mut call: impl FnMut() -> Duration) -> Duration {
    call();
    median((0..count.max(1)).map(|_| call()).collect())
}

/// The time of one call.
pub(crate) fn time<T>(call: impl FnOnce() -> T) -> Duration {
    let started = Instant::now();
    std::hint::black_box(call());
    started.elapsed()
}

/// Events a second.
pub(crate) fn rate(events: usize, took: Duration) -> f64 {
    float(events) / took.as_secs_f64()
}

/// Microseconds an event.
pub(crate) fn us_each(events: usize, took: Duration) -> f64 {
    took.as_secs_f64() * 1e6 / float(events.max(1))
}

/// A count as a number to calculate with.
#[expect(clippy::cast_precision_loss, reason = "counts far below 2^53")]
pub(crate) fn float(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ratio_is_the_median_of_the_rounds_and_one_odd_round_changes_little() {
        let mut part = [9, 2, 2, 2, 2, 2, 60, 2, 2, 2, 2, 2].into_iter().map(Duration::from_secs);
        let measured = rounds(11, || part.next().unwrap(), || Duration::from_secs(1));
        assert_eq!(measured.part, Duration::from_secs(2));
        assert!((measured.ratio - 2.0).abs() < 1e-9 && measured.spread < 1e-9, "{measured:?}");
    }
}

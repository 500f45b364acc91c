//! How long to wait after the n-th failure in a row.
//!
//! Invariants: never below half of the step's ceiling, never above it, never an overflow.

/// A resolved pair, in microseconds; `1 <= base <= ceiling`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Backoff {
    pub(crate) base_us: i64,
    pub(crate) ceiling_us: i64,
}

impl Backoff {
    /// The wait after failure `n` (from 1): `c/2 + random * c/2` with `c = min(base * 2^(n-1),
    /// ceiling)`; `random` in `0.0..1.0`.
    pub(crate) fn delay_us(self, n: i64, random: f64) -> i64 {
        // 63 doublings of at least 1 reach any ceiling, and 2^63 * 2^63 still fits in 128 bits.
        let doublings = u32::try_from(n.saturating_sub(1).clamp(0, 63)).unwrap_or(63);
        let wished = i128::from(self.base_us) << doublings;
        let c = i64::try_from(wished.min(i128::from(self.ceiling_us))).unwrap_or(self.ceiling_us);
        let half = c / 2;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_precision_loss,
            reason = "a jitter needs no last digit, and the cast saturates"
        )]
        let jitter = (random.clamp(0.0, 1.0) * half as f64) as i64;
        (c - half).saturating_add(jitter.min(half))
    }
}

#[cfg(test)]
mod tests {
    use super::Backoff;
    use proptest::prelude::*;

    const DEFAULT: Backoff = Backoff { base_us: 1_000_000, ceiling_us: 300_000_000 };

    #[test]
    fn it_doubles_from_the_base_to_the_ceiling() {
        let at = |n| DEFAULT.delay_us(n, 1.0);
        assert_eq!((at(1), at(2), at(9), at(10)), (1_000_000, 2_000_000, 256_000_000, 300_000_000));
        assert_eq!(DEFAULT.delay_us(1, 0.0), 500_000);
    }

    #[test]
    fn no_number_of_attempts_overflows() {
        for n in [31, 32, 63, 64, 65, 10_000, i64::MAX] {
            assert_eq!(DEFAULT.delay_us(n, 1.0), 300_000_000, "{n}");
        }
        let widest = Backoff { base_us: i64::MAX, ceiling_us: i64::MAX };
        assert!(widest.delay_us(i64::MAX, 1.0) >= i64::MAX / 2);
        assert_eq!(DEFAULT.delay_us(i64::MIN, 1.0), 1_000_000);
    }

    proptest! {
        #[test]
        fn the_delay_stays_between_half_the_step_and_the_step(
            base in 1i64..=i64::MAX, more in 0i64..=i64::MAX, n in any::<i64>(), random in 0.0f64..1.0,
        ) {
            let backoff = Backoff { base_us: base, ceiling_us: base.saturating_add(more) };
            let delay = backoff.delay_us(n, random);
            prop_assert!(delay >= base / 2 && delay <= backoff.ceiling_us);
        }
    }
}

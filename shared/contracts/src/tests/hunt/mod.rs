//! The hunt for a lie: schema pairs and payloads made up from a seed, few words and small numbers so
//! that they meet, and every verdict held against what the validators say of every payload.
//!
//! `cargo test` hunts a little; `cargo xtask soak judge` runs [`for_as_long_as_asked`] for minutes.

mod dice;
mod payloads;
mod schemas;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use serde_json::Value;

use crate::contract;
use crate::judge::{Verdict, candidates_of, judge, proves};
use dice::Dice;

/// Seconds that [`for_as_long_as_asked`] hunts.
const SECONDS: &str = "EVENTLANE_SOAK_SECONDS";

/// Made-up payloads for a pair, beside those the judge would make.
const PAYLOADS: usize = 150;

#[derive(Debug, Default)]
struct Bag {
    pairs: usize,
    verdicts: BTreeMap<&'static str, usize>,
    /// Payloads run through both validators.
    payloads: usize,
    /// Of those, the ones that the old schema of a widened pair took: each could have been the lie.
    chances: usize,
}

/// One pair and its payloads. The seed finds them again.
fn hunt(seed: u64, bag: &mut Bag) -> Result<(), String> {
    let mut dice = Dice::new(seed);
    let (old, new) = schemas::pair(&mut dice);
    let compile = |schema: &Value| contract::options(true).build(schema).ok();
    let (Some(was), Some(is)) = (compile(&old), compile(&new)) else { return Ok(()) };
    let verdict = judge(&old, &new);
    bag.pairs += 1;
    *bag.verdicts.entry(verdict.tag()).or_default() += 1;
    let lie = |what: &str, payload: &Value| {
        Err(format!("seed {seed}: {what}\nold: {old}\nnew: {new}\npayload: {payload}"))
    };
    if let Verdict::Narrowed { counter_example } = &verdict {
        if !was.is_valid(counter_example) || is.is_valid(counter_example) {
            return lie("narrowed by no counter-example", counter_example);
        }
        if proves(&old, &new) {
            return lie("proved, and yet narrowed", counter_example);
        }
        return Ok(());
    }
    let mut all = candidates_of(&old);
    all.truncate(400);
    all.extend(candidates_of(&new).into_iter().take(200));
    let made = all.len();
    for _ in 0..PAYLOADS {
        let payload = match made {
            0 => payloads::any(&mut dice, 0),
            _ if dice.one_in(3) => payloads::any(&mut dice, 0),
            _ => {
                let near = all[dice.below(made)].clone();
                payloads::changed(&mut dice, near)
            }
        };
        all.push(payload);
    }
    for payload in &all {
        let (took, takes) = (was.is_valid(payload), is.is_valid(payload));
        bag.payloads += 1;
        match verdict {
            Verdict::Widened if took => {
                bag.chances += 1;
                if !takes {
                    return lie("widened, and yet refused", payload);
                }
            }
            Verdict::Same if took != takes => return lie("the same, and yet not", payload),
            _ => {}
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_made_up_pair_is_lied_about(seed in any::<u64>()) {
        let outcome = hunt(seed, &mut Bag::default());
        prop_assert!(outcome.is_ok(), "{}", outcome.unwrap_err());
    }
}

#[test]
fn the_hunt_meets_every_verdict() {
    let mut bag = Bag::default();
    for seed in 0..400 {
        hunt(seed, &mut bag).unwrap();
    }
    for tag in ["same", "widened", "narrowed", "unknown"] {
        assert!(bag.verdicts.get(tag).is_some_and(|count| *count >= 4), "{bag:?}");
    }
    assert!(bag.chances > 1000, "{bag:?}");
}

#[test]
fn for_as_long_as_asked() {
    let Some(seconds) = std::env::var(SECONDS).ok().and_then(|text| text.parse().ok()) else {
        // Nobody asks: the seeds after those of the test above.
        for seed in 400..600 {
            hunt(seed, &mut Bag::default()).unwrap();
        }
        return;
    };
    let start = std::env::var("EVENTLANE_SOAK_SEED").ok().and_then(|text| text.parse().ok());
    let start: u64 = start.unwrap_or_else(|| {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        now.as_secs() << 24
    });
    let (began, mut bag, mut lies) = (Instant::now(), Bag::default(), 0);
    let mut seed = start;
    while began.elapsed() < Duration::from_secs(seconds) {
        if let Err(lie) = hunt(seed, &mut bag) {
            println!("{lie}\n");
            lies += 1;
            assert!(lies < 20, "enough lies");
        }
        seed = seed.wrapping_add(1);
    }
    println!("seeds {start}..{seed} in {:.0?}: {bag:?}, lies: {lies}", began.elapsed());
    assert_eq!(lies, 0);
}

//! The judge's promises: right where it decides, and it decides nine times in ten.

use serde_json::Value;

use crate::contract;
use crate::judge::{Verdict, judge};

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Pair {
    name: String,
    old: Value,
    new: Value,
    /// The truth: `same`, `widened` or `narrowed`.
    expect: String,
    /// `unknown`, where the judge doesn't find the truth.
    says: Option<String>,
}

fn pairs() -> Vec<Pair> {
    serde_json::from_str(include_str!("judge_pairs.json")).unwrap()
}

pub(super) fn takes(schema: &Value, payload: &Value) -> bool {
    contract::options(true).build(schema).unwrap().is_valid(payload)
}

#[test]
fn every_known_pair_is_judged_right() {
    let mut wrong = Vec::new();
    for Pair { name, old, new, expect, says } in pairs() {
        let verdict = judge(&old, &new);
        let wanted = says.unwrap_or(expect);
        if verdict.tag() != wanted {
            wrong.push(format!("{name}: {wanted} expected, {verdict:?} said"));
        }
        if let Verdict::Narrowed { counter_example } = &verdict {
            assert!(takes(&old, counter_example) && !takes(&new, counter_example), "{name}");
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn of_two_hundred_pairs_at_most_one_in_ten_is_unknown() {
    let pairs = pairs();
    let unknown = pairs.iter().filter(|pair| pair.says.is_some()).count();
    assert!(pairs.len() >= 200, "{}", pairs.len());
    assert!(unknown * 10 <= pairs.len(), "{unknown} of {}", pairs.len());
}

#[test]
fn a_schema_is_the_same_as_itself() {
    for Pair { name, old, new, .. } in pairs() {
        assert_eq!(judge(&old, &old), Verdict::Same, "{name}");
        assert_eq!(judge(&new, &new), Verdict::Same, "{name}");
    }
}

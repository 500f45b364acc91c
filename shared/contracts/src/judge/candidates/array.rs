//! Arrays at every count that matters, each position varied.

use serde_json::Value;

use super::Candidates;
use crate::judge::array::prefix;
use crate::judge::schema::Node;
use crate::judge::shape::Shape;

/// Items of the longest array that is made.
const LONGEST: u64 = 70;

/// Positions varied one by one, beside those that have a schema of their own.
const VARIED: u64 = 2;

impl<'a> Candidates<'_, 'a> {
    pub(super) fn arrays(&self, shape: &Shape<'a>, near: &[&Shape<'a>], deep: usize) -> Vec<Value> {
        let parts: Vec<Node<'a>> =
            shape.parts.iter().chain(near.iter().flat_map(|near| &near.parts)).copied().collect();
        let own = prefix(&parts);
        let pools: Vec<Vec<Value>> =
            (0..own.min(LONGEST) + VARIED).map(|index| self.pool(shape, near, index, deep)).collect();
        let counts = parts.iter().flat_map(|part| {
            ["minItems", "maxItems", "minContains", "maxContains"]
                .into_iter()
                .filter_map(|keyword| part.get(keyword)?.as_u64())
        });
        let mut lengths: Vec<u64> =
            counts.flat_map(|count| [count, count + 1, count.saturating_sub(1)]).collect();
        lengths.extend([0, 1, 2, own, own + 1, own.saturating_sub(1)]);
        lengths.retain(|length| *length <= LONGEST);
        lengths.sort_unstable();
        lengths.dedup();

        let mut arrays = Vec::new();
        for length in lengths {
            let Some(base) = base(&pools, length) else { continue };
            arrays.extend(base_unique(&pools, length));
            for (index, pool) in pools.iter().enumerate().take(base.len()) {
                for value in pool {
                    let mut varied = base.clone();
                    varied[index] = value.clone();
                    arrays.push(Value::Array(varied));
                }
            }
            arrays.push(Value::Array(base));
        }
        arrays
    }

    fn pool(&self, shape: &Shape<'a>, near: &[&Shape<'a>], index: u64, deep: usize) -> Vec<Value> {
        let hints: Vec<_> = near.iter().map(|near| self.schemas.item(near, index)).collect();
        self.values(&self.schemas.item(shape, index), &hints, deep + 1)
    }
}

/// An array of that length; of each pool the last value, which most schemas take.
fn base(pools: &[Vec<Value>], length: u64) -> Option<Vec<Value>> {
    let pool = |index: u64| pools.get(usize::try_from(index).ok()?).or_else(|| pools.last());
    (0..length).map(|index| pool(index).and_then(|pool| pool.last()).cloned()).collect()
}

/// The same with no two items alike, as far as the pools go; integers go on.
fn base_unique(pools: &[Vec<Value>], length: u64) -> Option<Value> {
    let mut items: Vec<Value> = Vec::new();
    for index in 0..usize::try_from(length).ok()? {
        let pool = pools.get(index).or_else(|| pools.last())?;
        let fresh = pool.iter().rev().find(|value| !items.contains(value)).cloned();
        items.push(fresh.or_else(|| pool.iter().any(Value::is_number).then(|| Value::from(index + 100)))?);
    }
    Some(Value::Array(items))
}

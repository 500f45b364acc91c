//! Objects with as little as may be, with all there is, and one step away from either.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::Candidates;
use crate::judge::object::required;
use crate::judge::schema::Node;
use crate::judge::shape::Shape;

use super::pattern;

/// A name that no schema is likely to mention.
const STRANGE: &str = "eventlaneStrange";

/// Objects of one shape.
const MOST: usize = 3000;

impl<'a> Candidates<'_, 'a> {
    pub(super) fn objects(&self, shape: &Shape<'a>, near: &[&Shape<'a>], deep: usize) -> Vec<Value> {
        let required = required(shape);
        let own = self.schemas.mentioned(&shape.parts);
        let mut pools: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for name in self.names(shape, near) {
            let hints: Vec<Vec<Node<'a>>> =
                near.iter().map(|near| self.schemas.property(near, &name)).collect();
            let pool = self.values(&self.schemas.property(shape, &name), &hints, deep + 1);
            if !pool.is_empty() {
                pools.insert(name, pool);
            }
        }
        // The last value of a pool is one that most schemas take.
        let plain = |name: &str| pools.get(name).and_then(|pool| pool.last()).cloned();
        let least: Map<String, Value> =
            required.iter().filter_map(|name| Some(((*name).to_owned(), plain(name)?))).collect();
        let all: Map<String, Value> = pools
            .keys()
            .filter(|name| own.contains(name.as_str()))
            .filter_map(|name| Some((name.clone(), plain(name)?)))
            .collect();

        let mut objects = vec![least.clone(), all.clone()];
        objects.extend(self.counted(shape, near, &least, &pools));
        for name in pools.keys() {
            let mut without = all.clone();
            if without.remove(name).is_some() {
                objects.push(without);
            }
        }
        for base in [&least, &all] {
            for (name, pool) in &pools {
                for value in pool {
                    let mut varied = base.clone();
                    varied.insert(name.clone(), value.clone());
                    objects.push(varied);
                }
            }
        }
        objects.extend(self.pairs(&least, &pools));
        objects.truncate(MOST);
        objects.into_iter().map(Value::Object).collect()
    }

    /// Two optional properties together, for what ties properties to each other.
    fn pairs(
        &self,
        least: &Map<String, Value>,
        pools: &BTreeMap<String, Vec<Value>>,
    ) -> Vec<Map<String, Value>> {
        let mut objects = Vec::new();
        for (one, pool) in pools.iter().take(8) {
            for (other, others) in pools.iter().take(8).filter(|(other, _)| one < *other) {
                for (value, with) in
                    pool.iter().take(4).flat_map(|value| others.iter().take(4).map(move |w| (value, w)))
                {
                    let mut pair = least.clone();
                    pair.insert(one.clone(), value.clone());
                    pair.insert(other.clone(), with.clone());
                    objects.push(pair);
                }
            }
        }
        objects
    }

    /// As many properties as a count asks for, and one more or less.
    fn counted(
        &self,
        shape: &Shape<'a>,
        near: &[&Shape<'a>],
        least: &Map<String, Value>,
        pools: &BTreeMap<String, Vec<Value>>,
    ) -> Vec<Map<String, Value>> {
        let Some(filler) = pools.get(STRANGE).and_then(|pool| pool.last()) else { return Vec::new() };
        let parts = shape.parts.iter().chain(near.iter().flat_map(|near| &near.parts));
        let counts = parts.flat_map(|part| {
            ["minProperties", "maxProperties"].into_iter().filter_map(|keyword| part.get(keyword)?.as_u64())
        });
        counts
            .flat_map(|count| [count.saturating_sub(1), count, count + 1])
            .filter(|count| *count <= 80)
            .map(|count| {
                let more = usize::try_from(count).unwrap_or(0).saturating_sub(least.len());
                let fillers = (0..more).map(|index| (format!("{STRANGE}{index}"), filler.clone()));
                least.clone().into_iter().chain(fillers).collect()
            })
            .collect()
    }

    fn names(&self, shape: &Shape<'a>, near: &[&Shape<'a>]) -> Vec<String> {
        let parts: Vec<Node<'a>> =
            shape.parts.iter().chain(near.iter().flat_map(|near| &near.parts)).copied().collect();
        let mut names: Vec<String> = self.schemas.mentioned(&parts).into_iter().map(str::to_owned).collect();
        names.push(STRANGE.to_owned());
        for part in &parts {
            let patterns = part.named("patternProperties").map(|(pattern, _)| pattern);
            let of_names = part.child("propertyNames");
            let of_names = of_names.and_then(|schema| schema.get("pattern")).and_then(Value::as_str);
            for pattern in patterns.chain(of_names) {
                names.extend(pattern::samples(pattern, &[]).into_iter().take(3));
            }
            names.extend(part.named("dependentSchemas").map(|(name, _)| name.to_owned()));
            if let Some(Value::Object(dependent)) = part.get("dependentRequired") {
                names.extend(dependent.keys().cloned());
                let wanted = dependent.values().filter_map(Value::as_array).flatten();
                names.extend(wanted.filter_map(Value::as_str).map(str::to_owned));
            }
        }
        names.sort();
        names.dedup();
        names
    }
}

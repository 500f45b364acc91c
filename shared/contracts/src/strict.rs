//! Strict objects, enforced at definition: a key must never vanish between caller and consumer.
//!
//! An object root, and each object in a root union, must refuse unknown keys; a typed contract must
//! do so at every level, since its parse would drop what it doesn't know. A map (an object that
//! declares a schema for its values) drops nothing and is taken as it is.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// The places whose objects would let unknown keys through, each with its cure.
pub(crate) fn faults(schema: &Value, typed: bool) -> Vec<String> {
    let mut walk = Walk { root: schema, typed, faults: BTreeSet::new() };
    walk.require(schema, "#", 0);
    if typed {
        walk.nested(schema, "#");
    }
    walk.faults.into_iter().collect()
}

/// Chains of references longer than this are cycles.
const CHAIN: usize = 32;

struct Walk<'a> {
    root: &'a Value,
    typed: bool,
    faults: BTreeSet<String>,
}

impl<'a> Walk<'a> {
    /// Reports `schema`, or the branches of it that are to blame, where it takes objects and
    /// doesn't refuse unknown keys. Says whether there was anything to report.
    fn require(&mut self, schema: &'a Value, place: &str, depth: usize) -> bool {
        if !self.takes_objects(schema, depth) || self.refuses_unknown(schema, depth) {
            return false;
        }
        let Some(object) = schema.as_object() else { return false };
        let mut blamed = false;
        if !object.contains_key("properties") {
            if let Some((target, reference)) = self.target(object) {
                blamed |= self.require(target, reference, depth + 1);
            }
            for keyword in ["anyOf", "oneOf"] {
                for (index, branch) in parts(object, keyword).enumerate() {
                    blamed |= self.require(branch, &format!("{place}/{keyword}/{index}"), depth + 1);
                }
            }
        }
        if !blamed {
            self.faults.insert(self.fault(place));
        }
        true
    }

    /// Whether objects are among what `schema` is written for. `properties` without a type counts.
    fn takes_objects(&self, schema: &'a Value, depth: usize) -> bool {
        let Some(object) = schema.as_object() else { return false };
        if let Some(declared) = declares_object(object) {
            return declared;
        }
        ["properties", "patternProperties"].iter().any(|keyword| object.contains_key(*keyword))
            // What can't be followed here (an anchor, a dynamic reference) may be anything.
            || object.contains_key("$dynamicRef")
            || (object.contains_key("$ref") && self.target(object).is_none())
            || (depth < CHAIN && self.all_parts(object).any(|part| self.takes_objects(part, depth + 1)))
    }

    /// Whether an object with a key that nobody declared is refused.
    fn refuses_unknown(&self, schema: &'a Value, depth: usize) -> bool {
        let Some(object) = schema.as_object() else { return schema == &Value::Bool(false) };
        if declares_object(object) == Some(false) || self.is_closed_or_map(object) {
            return true;
        }
        if depth >= CHAIN {
            return false;
        }
        let refuses = |part: &&'a Value| self.refuses_unknown(part, depth + 1);
        // Of a conjunction one part is enough; of a choice every branch must.
        parts(object, "allOf").any(|part| refuses(&part))
            || self.target(object).is_some_and(|(target, _)| refuses(&target))
            || ["anyOf", "oneOf"].iter().any(|keyword| {
                parts(object, keyword).next().is_some() && parts(object, keyword).all(|part| refuses(&part))
            })
    }

    /// Requires every schema below `schema`, for a typed contract.
    fn nested(&mut self, schema: &'a Value, place: &str) {
        for (key, child) in schema.as_object().into_iter().flatten() {
            let place = format!("{place}/{key}");
            match (key.as_str(), child) {
                ("properties" | "patternProperties" | "$defs" | "definitions", Value::Object(named)) => {
                    for (name, child) in named {
                        self.below(child, &format!("{place}/{}", name.replace('~', "~0").replace('/', "~1")));
                    }
                }
                ("prefixItems" | "anyOf" | "oneOf" | "allOf", Value::Array(listed)) => {
                    for (index, child) in listed.iter().enumerate() {
                        let place = format!("{place}/{index}");
                        // Branches were required together with the schema that holds them.
                        if key == "prefixItems" {
                            self.below(child, &place)
                        } else {
                            self.nested(child, &place)
                        }
                    }
                }
                ("items" | "additionalProperties" | "contains", child) => self.below(child, &place),
                _ => {}
            }
        }
    }

    fn below(&mut self, schema: &'a Value, place: &str) {
        self.require(schema, place, 0);
        self.nested(schema, place);
    }

    /// Closed, or a map that declares what its values are. In a typed contract `true` comes from a
    /// map of any values; in a hand-written schema it is the looseness we look for.
    fn is_closed_or_map(&self, object: &Map<String, Value>) -> bool {
        object.get("unevaluatedProperties") == Some(&Value::Bool(false))
            || match object.get("additionalProperties") {
                Some(Value::Bool(open)) => !open || self.typed,
                Some(Value::Object(values)) => !values.is_empty() || self.typed,
                _ => false,
            }
    }

    fn all_parts(&self, object: &'a Map<String, Value>) -> impl Iterator<Item = &'a Value> {
        ["allOf", "anyOf", "oneOf"]
            .into_iter()
            .flat_map(|keyword| parts(object, keyword))
            .chain(self.target(object).map(|(target, _)| target))
    }

    /// The target of a local `$ref`; the validator has refused any other kind.
    fn target(&self, object: &'a Map<String, Value>) -> Option<(&'a Value, &'a str)> {
        let reference = object.get("$ref")?.as_str()?;
        Some((self.root.pointer(reference.strip_prefix('#')?)?, reference))
    }

    fn fault(&self, place: &str) -> String {
        let cure = if self.typed {
            "add #[serde(deny_unknown_fields)] to the type"
        } else {
            "add \"additionalProperties\": false or \"unevaluatedProperties\": false"
        };
        format!("the object at {place} would let unknown keys through; {cure}")
    }
}

fn parts<'a>(object: &'a Map<String, Value>, keyword: &str) -> impl Iterator<Item = &'a Value> {
    object.get(keyword).and_then(Value::as_array).into_iter().flatten()
}

/// What `type` says about objects; nothing where there is none.
fn declares_object(object: &Map<String, Value>) -> Option<bool> {
    match object.get("type")? {
        Value::String(one) => Some(one == "object"),
        Value::Array(many) => Some(many.iter().any(|one| one == "object")),
        _ => None,
    }
}

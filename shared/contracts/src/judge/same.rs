//! Whether two schemas say the same: structure compared, remarks left out, references followed.

use std::collections::{BTreeSet, HashSet};

use serde_json::Value;

use super::schema::{KEYWORDS, Node};
use super::schemas::Schemas;

impl<'a> Schemas<'a> {
    /// Whether both take the same values, for no deeper reason than that they say the same.
    pub(super) fn same(&self, a: Node<'a>, b: Node<'a>) -> bool {
        Same { schemas: self, assumed: HashSet::new() }.schemas(a, b)
    }

    /// Whether what stands under `keyword` says the same in both, absence included.
    pub(super) fn same_keyword(&self, a: Node<'a>, b: Node<'a>, keyword: &str) -> bool {
        let mut same = Same { schemas: self, assumed: HashSet::new() };
        match (a.child(keyword), b.child(keyword)) {
            (Some(a), Some(b)) => same.keyword(keyword, a, b),
            (None, None) => true,
            _ => false,
        }
    }
}

struct Same<'s, 'a> {
    schemas: &'s Schemas<'a>,
    /// Pairs under comparison: met again, they are taken to be the same, as a cycle must be.
    assumed: HashSet<(usize, usize)>,
}

impl<'a> Same<'_, 'a> {
    fn schemas(&mut self, a: Node<'a>, b: Node<'a>) -> bool {
        if a.id() == b.id() || !self.assumed.insert((a.id(), b.id())) {
            return true;
        }
        let (Some(left), Some(right)) = (a.map(), b.map()) else { return a.schema == b.schema };
        let says = |key: &&String| KEYWORDS.contains(&key.as_str());
        let (left, right): (BTreeSet<_>, BTreeSet<_>) =
            (left.keys().filter(says).collect(), right.keys().filter(says).collect());
        left == right
            && left.into_iter().all(|key| match (a.child(key), b.child(key)) {
                (Some(under_a), Some(under_b)) if key == "$ref" => {
                    match (self.schemas.target(a), self.schemas.target(b)) {
                        (Some(a), Some(b)) => self.schemas(a, b),
                        // An unresolved reference: equal text on the same side only.
                        _ => a.side == b.side && under_a.schema == under_b.schema,
                    }
                }
                (Some(a), Some(b)) => self.keyword(key, a, b),
                _ => false,
            })
    }

    fn keyword(&mut self, keyword: &str, a: Node<'a>, b: Node<'a>) -> bool {
        match (keyword, a.schema, b.schema) {
            (
                "properties" | "patternProperties" | "dependentSchemas",
                Value::Object(left),
                Value::Object(right),
            ) => {
                left.len() == right.len()
                    && left.iter().all(|(name, schema)| {
                        right.get(name).is_some_and(|other| self.schemas(a.at(schema), b.at(other)))
                    })
            }
            ("allOf" | "anyOf" | "oneOf" | "prefixItems", Value::Array(left), Value::Array(right)) => {
                left.len() == right.len()
                    && left.iter().zip(right).all(|(left, right)| self.schemas(a.at(left), b.at(right)))
            }
            (
                "items"
                | "additionalProperties"
                | "not"
                | "if"
                | "then"
                | "else"
                | "contains"
                | "propertyNames"
                | "unevaluatedItems"
                | "unevaluatedProperties",
                _,
                _,
            ) => self.schemas(a, b),
            ("required" | "type", Value::Array(left), Value::Array(right)) => {
                let words =
                    |list: &'a [Value]| list.iter().filter_map(Value::as_str).collect::<BTreeSet<_>>();
                words(left) == words(right)
            }
            ("enum", Value::Array(left), Value::Array(right)) => {
                left.iter().all(|value| right.contains(value))
                    && right.iter().all(|value| left.contains(value))
            }
            _ => a.schema == b.schema,
        }
    }
}

//! What strings and numbers owe.

use serde_json::Value;

use super::number::{self, Bound, End, Exact};
use super::prove::{Proof, Prover};
use super::schema::{Node, is_asserted};
use super::shape::{Kind, Shape};

/// The larger (or smaller) of a count keyword over all parts.
pub(super) fn most(shape: &Shape<'_>, keyword: &str) -> Option<u64> {
    shape.parts.iter().filter_map(|part| part.get(keyword)?.as_u64()).max()
}

/// The smaller of a count keyword over all parts.
pub(super) fn least(shape: &Shape<'_>, keyword: &str) -> Option<u64> {
    shape.parts.iter().filter_map(|part| part.get(keyword)?.as_u64()).min()
}

impl<'a> Prover<'_, 'a> {
    /// The keywords that only speak of one kind, and hold for all others.
    pub(super) fn by_kind(&mut self, shape: &Shape<'a>, owed: Node<'a>, keyword: &str) -> Proof {
        match (keyword, shape.kind) {
            ("format", Kind::String | Kind::Number) => self.format(shape, owed),
            ("minLength" | "maxLength" | "pattern", Kind::String) => self.string(shape, owed, keyword),
            (
                "minimum" | "exclusiveMinimum" | "maximum" | "exclusiveMaximum" | "multipleOf",
                Kind::Number,
            ) => self.number(shape, owed, keyword),
            (
                "items" | "prefixItems" | "contains" | "minItems" | "maxItems" | "uniqueItems"
                | "unevaluatedItems",
                Kind::Array,
            ) => self.array(shape, owed, keyword),
            (
                "properties"
                | "patternProperties"
                | "additionalProperties"
                | "unevaluatedProperties"
                | "propertyNames"
                | "required"
                | "minProperties"
                | "maxProperties",
                Kind::Object,
            ) => self.object(shape, owed, keyword),
            _ => Ok(()),
        }
    }

    fn format(&mut self, shape: &Shape<'a>, owed: Node<'a>) -> Proof {
        let Some(format) = owed.get("format").and_then(Value::as_str) else { return Ok(()) };
        let proved = if shape.kind == Kind::Number {
            match number::integer_format(format) {
                Some((low, high)) => number::integer_range(shape).is_some_and(|(lower, upper)| {
                    let end = |value| Bound { value: Exact::Whole(value), exclusive: false };
                    lower.within(end(low), End::Lower) && upper.within(end(high), End::Upper)
                }),
                // A float takes every number that JSON carries.
                None => {
                    is_asserted(format)
                        || matches!(format, "float" | "double")
                        || self.has(shape, owed, &["format"])
                }
            }
        } else {
            number::integer_format(format).is_some()
                || matches!(format, "float" | "double")
                || self.has(shape, owed, &["format"])
        };
        if proved { Ok(()) } else { Err(self.reason(&format!("`format` {format:?} is new or changed"))) }
    }

    fn string(&mut self, shape: &Shape<'a>, owed: Node<'a>, keyword: &str) -> Proof {
        let limit = owed.get(keyword).and_then(Value::as_u64);
        let proved = self.has(shape, owed, &[keyword])
            || match (keyword, limit) {
                ("minLength", Some(limit)) => {
                    limit == 0 || most(shape, keyword).is_some_and(|known| known >= limit)
                }
                ("maxLength", Some(limit)) => least(shape, keyword).is_some_and(|known| known <= limit),
                _ => false,
            };
        if proved { Ok(()) } else { Err(self.reason(&format!("`{keyword}` is new or changed"))) }
    }

    fn number(&mut self, shape: &Shape<'a>, owed: Node<'a>, keyword: &str) -> Proof {
        let limit = owed.get(keyword).and_then(Value::as_number);
        let end = if keyword.ends_with("inimum") { End::Lower } else { End::Upper };
        let proved = self.has(shape, owed, &[keyword])
            || match (keyword, limit) {
                ("multipleOf", Some(step)) => divides(shape, step),
                (_, Some(limit)) => {
                    let owed = Bound { value: Exact::of(limit), exclusive: keyword.starts_with("exclusive") };
                    number::bound(shape, end).is_some_and(|known| known.within(owed, end))
                }
                _ => false,
            };
        if proved { Ok(()) } else { Err(self.reason(&format!("`{keyword}` is new or changed"))) }
    }
}

/// Whether every multiple that the shape takes is one of `step`. Whole steps only: the validator's
/// arithmetic on fractions is not ours to foresee.
fn divides(shape: &Shape<'_>, step: &serde_json::Number) -> bool {
    let Some(step) = step.as_u64().filter(|step| (1..=1 << 53).contains(step)) else { return false };
    let known = shape.parts.iter().filter_map(|part| part.get("multipleOf")?.as_u64());
    (shape.integer && step == 1)
        || known.filter(|known| *known <= 1 << 53).any(|known| known > 0 && known % step == 0)
}

//! Where a piece of a schema stands, and what the judge knows of JSON Schema's words.

use serde_json::{Map, Value};

/// Which of the two schemas a node is part of: its `$ref`s resolve there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Side {
    Old,
    New,
}

/// A schema inside one of the two.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node<'a> {
    pub(super) side: Side,
    pub(super) schema: &'a Value,
}

/// The schema that nothing satisfies.
pub(super) const NOTHING: &Value = &Value::Bool(false);

impl<'a> Node<'a> {
    pub(super) fn new(side: Side, schema: &'a Value) -> Self {
        Self { side, schema }
    }

    /// One number a node: nodes are places in two values that outlive the judgement.
    pub(super) fn id(self) -> usize {
        std::ptr::from_ref(self.schema).addr()
    }

    pub(super) fn map(self) -> Option<&'a Map<String, Value>> {
        self.schema.as_object()
    }

    pub(super) fn get(self, keyword: &str) -> Option<&'a Value> {
        self.map()?.get(keyword)
    }

    /// The schema under `keyword`.
    pub(super) fn child(self, keyword: &str) -> Option<Self> {
        self.get(keyword).map(|schema| self.at(schema))
    }

    /// The schemas listed under `keyword`.
    pub(super) fn list(self, keyword: &str) -> impl Iterator<Item = Self> + Clone {
        self.get(keyword).and_then(Value::as_array).into_iter().flatten().map(move |schema| self.at(schema))
    }

    /// The schemas named under `keyword`.
    pub(super) fn named(self, keyword: &str) -> impl Iterator<Item = (&'a str, Self)> {
        let map = self.get(keyword).and_then(Value::as_object);
        map.into_iter().flatten().map(move |(name, schema)| (name.as_str(), self.at(schema)))
    }

    /// The strings listed under `keyword`.
    pub(super) fn words(self, keyword: &str) -> impl Iterator<Item = &'a str> {
        self.get(keyword).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    }

    pub(super) fn at(self, schema: &'a Value) -> Self {
        Self { side: self.side, schema }
    }
}

/// Every keyword that the validator gives a say in draft 2020-12; all others are remarks.
pub(super) const KEYWORDS: [&str; 47] = [
    "$dynamicRef",
    "$recursiveRef",
    "$ref",
    "additionalItems",
    "additionalProperties",
    "allOf",
    "anyOf",
    "const",
    "contains",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "else",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "if",
    "items",
    "maxContains",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minContains",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "not",
    "oneOf",
    "pattern",
    "patternProperties",
    "prefixItems",
    "properties",
    "propertyNames",
    "required",
    "then",
    "type",
    "unevaluatedItems",
    "unevaluatedProperties",
    "uniqueItems",
    "$id",
    "$anchor",
    "$dynamicAnchor",
    "$vocabulary",
];

/// Whether the validator asserts this format; it takes any other for a remark.
pub(super) fn is_asserted(format: &str) -> bool {
    jsonschema::options().is_known_format(jsonschema::Draft::Draft202012, format)
}

/// Whether `$ref`s mean what they seem to: no `$id` below the root moves the base, and nothing is
/// resolved at run time.
pub(super) fn is_plain(schema: &Value, is_root: bool) -> bool {
    match schema {
        Value::Object(map) => map.iter().all(|(key, value)| {
            let moves = matches!(key.as_str(), "$id" | "$dynamicRef" | "$recursiveRef") && value.is_string();
            !(moves && !(is_root && key == "$id")) && is_plain(value, false)
        }),
        Value::Array(items) => items.iter().all(|item| is_plain(item, false)),
        _ => true,
    }
}

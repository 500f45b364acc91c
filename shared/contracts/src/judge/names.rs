//! Which properties a schema has looked at, for `additionalProperties` and `unevaluatedProperties`.

use std::collections::BTreeSet;

use super::schema::Node;
use super::schemas::Schemas;

/// Names and patterns that are looked at.
#[derive(Debug, Default)]
pub(super) struct Evaluated<'a> {
    pub(super) names: BTreeSet<&'a str>,
    pub(super) patterns: BTreeSet<&'a str>,
}

impl<'a> Evaluated<'a> {
    /// What `properties` and `patternProperties` beside `additionalProperties` name.
    pub(super) fn of_properties(node: Node<'a>) -> Self {
        Self {
            names: node.named("properties").map(|(name, _)| name).collect(),
            patterns: node.named("patternProperties").map(|(pattern, _)| pattern).collect(),
        }
    }
}

/// Schemas nested in place beyond which nothing is concluded.
const DEEP: usize = 24;

/// What is looked at whichever payload satisfies the schema: in place, through `$ref` and `allOf`.
/// Nothing when that is every property.
pub(super) fn always_evaluated<'a>(schemas: &Schemas<'a>, node: Node<'a>) -> Option<Evaluated<'a>> {
    let mut evaluated = Evaluated::default();
    collect(schemas, node, &mut evaluated, 0, true).then_some(evaluated)
}

fn collect<'a>(
    schemas: &Schemas<'a>,
    node: Node<'a>,
    all: &mut Evaluated<'a>,
    deep: usize,
    root: bool,
) -> bool {
    if node.get("additionalProperties").is_some() || (!root && node.get("unevaluatedProperties").is_some()) {
        return false;
    }
    let own = Evaluated::of_properties(node);
    all.names.extend(own.names);
    all.patterns.extend(own.patterns);
    // Deeper ones are left out: fewer names looked at are more that have to be proved.
    deep >= DEEP
        || node
            .list("allOf")
            .chain(schemas.target(node))
            .all(|part| collect(schemas, part, all, deep + 1, false))
}

/// The names that may be looked at by a schema or any of its branches; nothing when they can't be
/// counted, so that nothing is known of what `unevaluatedProperties` refuses.
pub(super) fn may_evaluate<'a>(schemas: &Schemas<'a>, node: Node<'a>) -> Option<BTreeSet<&'a str>> {
    let mut names = BTreeSet::new();
    branches(schemas, node, &mut names, 0).then_some(names)
}

fn branches<'a>(schemas: &Schemas<'a>, node: Node<'a>, names: &mut BTreeSet<&'a str>, deep: usize) -> bool {
    let endless = ["additionalProperties", "patternProperties", "not", "dependencies", "$dynamicRef"];
    if deep > DEEP
        || endless.iter().any(|keyword| node.get(keyword).is_some())
        || (deep > 0 && node.get("unevaluatedProperties").is_some())
        || (node.get("$ref").is_some() && schemas.target(node).is_none())
    {
        return false;
    }
    names.extend(node.named("properties").map(|(name, _)| name));
    let listed = ["allOf", "anyOf", "oneOf"].into_iter().flat_map(|keyword| node.list(keyword));
    let single = ["if", "then", "else"].into_iter().filter_map(|keyword| node.child(keyword));
    let dependent = node.named("dependentSchemas").map(|(_, schema)| schema);
    listed
        .chain(single)
        .chain(dependent)
        .chain(schemas.target(node))
        .all(|part| branches(schemas, part, names, deep + 1))
}

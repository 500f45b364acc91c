//! A schema as a choice of shapes: each of one JSON type, each a plain list of parts that all hold.
//!
//! Taking a schema apart may forget constraints (it never invents any), so a shape takes at least
//! what the schema takes. That is the right side to err on for what is *known* of a payload.

use serde_json::Value;

use super::schema::Node;
use super::schemas::Schemas;

/// The JSON types; an integer is a number without a fraction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Null,
    Boolean,
    Number,
    String,
    Array,
    Object,
}

/// All kinds, in the order of their names in the specification.
const KINDS: [Kind; 6] = [Kind::Null, Kind::Boolean, Kind::Number, Kind::String, Kind::Array, Kind::Object];

/// Shapes of one schema beyond which its remaining choices are forgotten.
const MOST: usize = 512;

/// Values of one kind that satisfy every part.
#[derive(Debug, Clone)]
pub(super) struct Shape<'a> {
    pub(super) kind: Kind,
    /// A number without a fraction.
    pub(super) integer: bool,
    /// Object schemas, references followed and choices made.
    pub(super) parts: Vec<Node<'a>>,
}

impl Kind {
    pub(super) fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(_) => Self::Boolean,
            Value::Number(_) => Self::Number,
            Value::String(_) => Self::String,
            Value::Array(_) => Self::Array,
            Value::Object(_) => Self::Object,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "boolean",
            Self::Number => "number",
            Self::String => "string",
            Self::Array => "array",
            Self::Object => "object",
        }
    }
}

/// The types a part names; nothing when it names none.
pub(super) fn types(node: Node<'_>) -> Option<Vec<&str>> {
    match node.get("type")? {
        Value::String(one) => Some(vec![one]),
        Value::Array(many) => Some(many.iter().filter_map(Value::as_str).collect()),
        _ => None,
    }
}

impl<'a> Shape<'a> {
    /// The values of an `enum` or a `const`, of this kind; nothing when there are other values too.
    /// Whether the other parts take them is not asked here.
    pub(super) fn listed(&self) -> Option<Vec<Value>> {
        let listed = self.parts.iter().find_map(|part| match (part.get("const"), part.get("enum")) {
            (Some(value), _) => Some(vec![value.clone()]),
            (None, Some(Value::Array(values))) => Some(values.clone()),
            _ => None,
        });
        match (listed, self.kind) {
            (Some(values), kind) => {
                Some(values.into_iter().filter(|value| Kind::of(value) == kind).collect())
            }
            (None, Kind::Null) => Some(vec![Value::Null]),
            (None, Kind::Boolean) => Some(vec![Value::Bool(false), Value::Bool(true)]),
            (None, _) => None,
        }
    }
}

impl<'a> Schemas<'a> {
    /// The shapes of values that satisfy all of `nodes`.
    pub(super) fn shapes(&self, nodes: &[Node<'a>]) -> Vec<Shape<'a>> {
        let mut alternatives = Vec::new();
        self.split(Vec::new(), nodes.to_vec(), Vec::new(), &mut alternatives);
        alternatives
            .into_iter()
            .flat_map(|parts| KINDS.into_iter().filter_map(move |kind| of_kind(&parts, kind)))
            .collect()
    }

    /// The shapes of `shape`'s values that satisfy `node` too.
    pub(super) fn narrowed(&self, shape: &Shape<'a>, node: Node<'a>) -> Vec<Shape<'a>> {
        let mut alternatives = Vec::new();
        self.split(shape.parts.clone(), vec![node], Vec::new(), &mut alternatives);
        alternatives.iter().filter_map(|parts| of_kind(parts, shape.kind)).collect()
    }

    fn split(
        &self,
        mut parts: Vec<Node<'a>>,
        mut todo: Vec<Node<'a>>,
        mut choices: Vec<Vec<Vec<Node<'a>>>>,
        found: &mut Vec<Vec<Node<'a>>>,
    ) {
        while let Some(node) = todo.pop() {
            if node.schema == &Value::Bool(false) {
                return;
            }
            if node.map().is_none() || parts.iter().any(|part| part.id() == node.id()) {
                continue;
            }
            parts.push(node);
            todo.extend(self.target(node));
            todo.extend(node.list("allOf"));
            for keyword in ["anyOf", "oneOf"] {
                let branches: Vec<_> = node.list(keyword).map(|branch| vec![branch]).collect();
                if !branches.is_empty() {
                    choices.push(branches);
                }
            }
            if let Some(condition) = node.child("if") {
                let mut yes = vec![condition];
                yes.extend(node.child("then"));
                choices.push(vec![yes, node.child("else").into_iter().collect()]);
            }
        }
        match choices.pop() {
            Some(branches) if found.len() + branches.len() <= MOST => {
                for branch in branches {
                    self.split(parts.clone(), branch, choices.clone(), found);
                }
            }
            _ => found.push(parts),
        }
    }
}

fn of_kind<'a>(parts: &[Node<'a>], kind: Kind) -> Option<Shape<'a>> {
    let mut integer = false;
    for part in parts {
        if let Some(types) = types(*part) {
            let whole = kind == Kind::Number && types.contains(&"integer");
            if !types.contains(&kind.name()) && !whole {
                return None;
            }
            integer |= whole && !types.contains(&"number");
        }
    }
    let shape = Shape { kind, integer, parts: parts.to_vec() };
    match shape.listed() {
        Some(values) if values.is_empty() => None,
        _ => Some(shape),
    }
}

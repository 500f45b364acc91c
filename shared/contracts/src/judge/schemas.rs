//! The two schemas together: references resolved, pieces run by the real validator.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use jsonschema::Validator;
use serde_json::{Map, Value};

use super::schema::{Node, Side, is_asserted};
use crate::contract;

/// Both schemas and the validators of their pieces, made when first asked for.
pub(super) struct Schemas<'a> {
    old: &'a Value,
    new: &'a Value,
    registry: Option<jsonschema::Registry<'a>>,
    validators: RefCell<HashMap<usize, Option<Rc<Validator>>>>,
    patterns: RefCell<HashMap<(String, String), Option<bool>>>,
}

impl<'a> Schemas<'a> {
    pub(super) fn new(old: &'a Value, new: &'a Value) -> Self {
        let registry = jsonschema::Registry::new()
            .draft(jsonschema::Draft::Draft202012)
            .add(base(Side::Old), old)
            .and_then(|registry| registry.add(base(Side::New), new))
            .and_then(jsonschema::RegistryBuilder::prepare)
            .ok();
        Self { old, new, registry, validators: RefCell::default(), patterns: RefCell::default() }
    }

    /// The target of a node's local `$ref`.
    pub(super) fn target(&self, node: Node<'a>) -> Option<Node<'a>> {
        let pointer = node.get("$ref")?.as_str()?.strip_prefix('#')?;
        let root = match node.side {
            Side::Old => self.old,
            Side::New => self.new,
        };
        // A percent stands for an escape, which the pointer's own reader doesn't know.
        if pointer.contains('%') { None } else { root.pointer(pointer).map(|schema| node.at(schema)) }
    }

    /// What the validator says of `value` under a piece of a schema; nothing when it can't be asked.
    pub(super) fn accepts(&self, node: Node<'a>, value: &Value) -> Option<bool> {
        if let Value::Bool(all) = node.schema {
            return Some(*all);
        }
        let found = self.validators.borrow().get(&node.id()).cloned();
        let validator = found.unwrap_or_else(|| {
            let made = self.compile(node).map(Rc::new);
            self.validators.borrow_mut().insert(node.id(), made.clone());
            made
        })?;
        Some(validator.is_valid(value))
    }

    /// Whether every piece takes `value`, as far as they can be asked.
    pub(super) fn all_accept(&self, nodes: &[Node<'a>], value: &Value) -> bool {
        nodes.iter().all(|node| self.accepts(*node, value) != Some(false))
    }

    fn compile(&self, node: Node<'a>) -> Option<Validator> {
        let registry = self.registry.as_ref()?;
        contract::options(true).with_registry(registry).build(&absolute(node.schema, base(node.side))).ok()
    }

    /// Whether a format is in a piece, or behind its `$ref`s, that the validator doesn't see but a
    /// Rust type holds its values to.
    pub(super) fn has_unseen_format(&self, node: Node<'a>) -> bool {
        self.walk_formats(node, &mut HashSet::new())
    }

    fn walk_formats(&self, node: Node<'a>, seen: &mut HashSet<usize>) -> bool {
        if !seen.insert(node.id()) {
            return false;
        }
        match node.schema {
            Value::Object(map) => {
                let unseen = |value: &Value| value.as_str().is_some_and(|format| !is_asserted(format));
                map.get("format").is_some_and(unseen)
                    || self.target(node).is_some_and(|target| self.walk_formats(target, seen))
                    || map.values().any(|value| self.walk_formats(node.at(value), seen))
            }
            Value::Array(items) => items.iter().any(|item| self.walk_formats(node.at(item), seen)),
            _ => false,
        }
    }

    /// Whether a property's name matches a pattern, by the engine that the validator uses.
    pub(super) fn matches(&self, pattern: &str, name: &str) -> Option<bool> {
        let key = (pattern.to_owned(), name.to_owned());
        if let Some(known) = self.patterns.borrow().get(&key) {
            return *known;
        }
        let schema = Value::from_iter([("pattern", pattern)]);
        let found = contract::options(true).build(&schema).ok().map(|v| v.is_valid(&Value::from(name)));
        self.patterns.borrow_mut().insert(key, found);
        found
    }
}

fn base(side: Side) -> &'static str {
    match side {
        Side::Old => "urn:eventlane:old",
        Side::New => "urn:eventlane:new",
    }
}

/// The schema with its local references made absolute, so that it can stand alone.
fn absolute(schema: &Value, base: &str) -> Value {
    match schema {
        Value::Object(map) => {
            let moved =
                map.iter().filter(|(key, _)| *key != "$schema" && *key != "$id").map(|(key, value)| {
                    let value = match (key.as_str(), value) {
                        ("$ref", Value::String(target)) if target.starts_with('#') => {
                            Value::from(format!("{base}{target}"))
                        }
                        ("enum" | "const", data) => data.clone(),
                        _ => absolute(value, base),
                    };
                    (key.clone(), value)
                });
            Value::Object(Map::from_iter(moved))
        }
        Value::Array(items) => items.iter().map(|item| absolute(item, base)).collect(),
        other => other.clone(),
    }
}

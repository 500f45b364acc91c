//! Payloads that a schema takes, close to where two schemas may part: at bounds, with and without
//! each optional property, one value of every list. Candidates only; the validators decide.

mod array;
mod number;
mod object;
mod pattern;
mod text;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap};

use serde_json::Value;

use super::schema::Node;
use super::schemas::Schemas;
use super::shape::{Kind, Shape};
use crate::limits::PAYLOAD_BYTES;

/// Candidates of one schema inside another.
const INNER: usize = 36;

/// Of those, the ones that the new schema takes too.
const TAKEN: usize = 14;

/// Levels of a payload.
const DEEP: usize = 6;

/// Values put to the validators for one judgement. Bounds the time, whatever the schemas.
const WORK: usize = 100_000;

/// Bytes of a value that is made to stand inside another.
const LARGE: usize = 16_384;

/// Ways in which the new schema may speak of the same value that are looked at.
const HINTS: usize = 8;

/// Shapes of a schema that are tried.
const SHAPES: usize = 48;

/// Values where anything goes.
const ANYTHING: [&str; 2] = ["", "a"];

pub(super) struct Candidates<'s, 'a> {
    schemas: &'s Schemas<'a>,
    work: Cell<usize>,
    made: RefCell<HashMap<Place, Vec<Value>>>,
}

/// What candidates were made for: the numbers of the known nodes, of the hints, and the level.
type Place = (Vec<usize>, Vec<Vec<usize>>, usize);

impl<'s, 'a> Candidates<'s, 'a> {
    pub(super) fn new(schemas: &'s Schemas<'a>) -> Self {
        Self { schemas, work: Cell::new(0), made: RefCell::default() }
    }

    /// The smallest candidate of `old` with that property, in the bytes of its JSON.
    pub(super) fn smallest(
        &self,
        old: Node<'a>,
        new: Option<Node<'a>>,
        wanted: impl Fn(&Value) -> bool,
    ) -> Option<Value> {
        let hints: Vec<_> = new.into_iter().map(|new| vec![new]).collect();
        let mut all = self.raw(&[old], &hints, 0);
        all.sort_by_cached_key(|value| value.to_string().len());
        all.into_iter().filter(|value| value.to_string().len() <= PAYLOAD_BYTES).find(|value| wanted(value))
    }

    /// Every candidate.
    #[cfg(test)]
    pub(super) fn all(&self, node: Node<'a>) -> Vec<Value> {
        self.raw(&[node], &[], 0)
    }

    /// The candidate a person would show: with everything in it that may be there.
    pub(super) fn typical(&self, node: Node<'a>, wanted: impl Fn(&Value) -> bool) -> Option<Value> {
        let mut all = self.raw(&[node], &[], 0);
        all.sort_by_cached_key(|value| (std::cmp::Reverse(breadth(value)), value.to_string().len()));
        all.into_iter().find(|value| wanted(value))
    }

    /// Values that satisfy all of `known`; those first that the fewest of `hints` take.
    fn values(&self, known: &[Node<'a>], hints: &[Vec<Node<'a>>], deep: usize) -> Vec<Value> {
        if known.is_empty() && hints.iter().all(Vec::is_empty) {
            return ANYTHING.into_iter().map(Value::from).chain([Value::Null, Value::from(1)]).collect();
        }
        let ids = |nodes: &[Node<'a>]| nodes.iter().map(|node| node.id()).collect::<Vec<_>>();
        let mut hints = hints.to_vec();
        hints.sort_by_cached_key(|hint| ids(hint));
        hints.dedup_by_key(|hint| ids(hint));
        hints.truncate(HINTS);
        let place = (ids(known), hints.iter().map(|hint| ids(hint)).collect(), deep);
        if let Some(made) = self.made.borrow().get(&place) {
            return made.clone();
        }
        let made = self.make(known, &hints, deep);
        self.made.borrow_mut().insert(place, made.clone());
        made
    }

    fn make(&self, known: &[Node<'a>], hints: &[Vec<Node<'a>>], deep: usize) -> Vec<Value> {
        let (mut few, mut all) = (Vec::new(), Vec::new());
        for value in self.raw(known, hints, deep) {
            if self.schemas.all_accept(known, &value) {
                let count = hints.iter().filter(|hint| self.schemas.all_accept(hint, &value)).count();
                if count < hints.len() { few.push((count, value)) } else { all.push(value) }
            }
        }
        few.sort_by_key(|(count, _)| *count);
        few.truncate(INNER);
        all.truncate(TAKEN);
        // The plainest comes last: it is what a value is made of where it is not the one varied.
        few.into_iter().map(|(_, value)| value).chain(all.into_iter().rev()).collect()
    }

    fn raw(&self, known: &[Node<'a>], hints: &[Vec<Node<'a>>], deep: usize) -> Vec<Value> {
        if deep > DEEP || self.work.get() > WORK {
            return Vec::new();
        }
        let hinted: Vec<Shape<'a>> =
            hints.iter().flat_map(|hint| self.schemas.shapes(hint).into_iter().take(SHAPES)).collect();
        let mut seen = BTreeSet::new();
        let mut all = Vec::new();
        for shape in self.schemas.shapes(known).into_iter().take(SHAPES) {
            let near: Vec<&Shape<'a>> = hinted.iter().filter(|hint| hint.kind == shape.kind).collect();
            for value in self.of_shape(&shape, &near, deep) {
                let text = value.to_string();
                // Large values cost as much as many small ones.
                self.work.set(self.work.get() + 1 + text.len() / 256);
                if self.work.get() > WORK {
                    return all;
                }
                if (deep == 0 || text.len() <= LARGE) && seen.insert(text) {
                    all.push(value);
                }
            }
        }
        all
    }

    fn of_shape(&self, shape: &Shape<'a>, near: &[&Shape<'a>], deep: usize) -> Vec<Value> {
        if let Some(listed) = shape.listed() {
            return listed;
        }
        match shape.kind {
            Kind::Null | Kind::Boolean => Vec::new(),
            Kind::Number => number::values(shape, near),
            Kind::String => text::values(shape, near),
            Kind::Array => self.arrays(shape, near, deep),
            Kind::Object => self.objects(shape, near, deep),
        }
    }
}

/// Values listed in `enum` or `const` by shapes nearby.
fn listed_near(near: &[&Shape<'_>]) -> impl Iterator<Item = Value> {
    near.iter().filter_map(|shape| shape.listed()).flatten().collect::<Vec<_>>().into_iter()
}

/// How much there is to see in a value.
fn breadth(value: &Value) -> usize {
    match value {
        Value::Null => 0,
        Value::Bool(_) | Value::Number(_) => 2,
        Value::String(text) if text.is_empty() => 1,
        Value::String(_) => 2,
        Value::Array(items) => 1 + items.iter().take(2).map(breadth).sum::<usize>(),
        Value::Object(map) => 1 + map.values().map(breadth).sum::<usize>(),
    }
}

//! The proof that every old payload is valid under the new schema.
//!
//! Known of a payload is a [`Shape`] of the old schema; owed is a node of the new one. Each keyword
//! owed is discharged by what is known, or the proof fails: nothing is concluded from failure.
//!
//! Recursive schemas are proved by induction over a payload's size: a claim met again below a
//! property or an item is about a smaller value and may be taken as shown; met again at the same
//! value it is a circle and fails.

use serde_json::Value;

use super::number;
use super::schema::{NOTHING, Node, Side};
use super::schemas::Schemas;
use super::shape::{Shape, types};

/// Why a proof failed: the place in the payload and the keyword that could not be discharged.
pub(super) type Proof = Result<(), String>;

/// Claims looked at before a proof is given up.
const STEPS: usize = 60_000;

/// Schemas nested at one value, references and choices counted, before they are taken for a circle.
const CHAIN: usize = 48;

/// Levels of a payload before a proof is given up.
const DEPTH: usize = 64;

pub(super) struct Prover<'s, 'a> {
    pub(super) schemas: &'s Schemas<'a>,
    steps: usize,
    chain: usize,
    place: Vec<String>,
    claims: Vec<Claim>,
    /// Inside the proof that a shape refuses itself.
    pub(super) denying: bool,
}

/// Something under proof: what is known (node numbers), what is owed (none: that nothing satisfies
/// what is known), and at which level of the payload.
struct Claim {
    known: Vec<usize>,
    owed: Option<usize>,
    level: usize,
}

/// What to do with a claim.
enum Met {
    New,
    /// About a smaller value: part of the induction.
    Smaller,
    Circle,
}

impl<'s, 'a> Prover<'s, 'a> {
    pub(super) fn new(schemas: &'s Schemas<'a>) -> Self {
        Self { schemas, steps: 0, chain: 0, place: Vec::new(), claims: Vec::new(), denying: false }
    }

    /// Every value that satisfies all of `known` satisfies `owed`.
    pub(super) fn contains(&mut self, known: &[Node<'a>], owed: Node<'a>) -> Proof {
        if owed.schema == &Value::Bool(true) || owed.map().is_some_and(serde_json::Map::is_empty) {
            return Ok(());
        }
        let known = if known.iter().any(|node| node.schema == NOTHING) {
            &[Node::new(Side::Old, NOTHING)][..]
        } else {
            known
        };
        if known.iter().any(|node| self.schemas.same(*node, owed)) {
            return Ok(());
        }
        match self.meet(known, Some(owed)) {
            Met::Smaller => return Ok(()),
            Met::Circle => return Err(self.reason("a schema that refers to itself")),
            Met::New => {}
        }
        let mut proof = Ok(());
        for shape in self.schemas.shapes(known) {
            if self.is_empty(&shape) {
                continue;
            }
            proof = self.satisfies(&shape, owed);
            if proof.is_err() {
                break;
            }
        }
        self.claims.pop();
        proof
    }

    /// Nothing satisfies all of `known`.
    pub(super) fn nothing(&mut self, known: &[Node<'a>]) -> bool {
        if known.is_empty() {
            return false;
        }
        if known.iter().any(|node| node.schema == NOTHING) {
            return true;
        }
        match self.meet(known, None) {
            Met::Smaller => return true,
            Met::Circle => return false,
            Met::New => {}
        }
        let shapes = self.schemas.shapes(known);
        let empty = shapes.iter().all(|shape| self.is_empty(shape));
        self.claims.pop();
        empty
    }

    /// No value of `shape` satisfies `node`.
    pub(super) fn excludes(&mut self, shape: &Shape<'a>, node: Node<'a>) -> bool {
        if self.chain > CHAIN {
            return false;
        }
        self.chain += 1;
        let narrowed = self.schemas.narrowed(shape, node);
        let empty = narrowed.iter().all(|narrowed| self.is_empty(narrowed));
        self.chain -= 1;
        empty
    }

    /// Every value of `shape` satisfies `owed`: one keyword after the other.
    pub(super) fn satisfies(&mut self, shape: &Shape<'a>, owed: Node<'a>) -> Proof {
        if owed.schema == &Value::Bool(true) || shape.parts.iter().any(|part| self.schemas.same(*part, owed))
        {
            return Ok(());
        }
        let Some(map) = owed.map() else { return Err(self.reason("a value that is refused now")) };
        self.steps += 1;
        if self.steps > STEPS || self.chain > CHAIN {
            return Err(self.reason("schemas too entangled to follow"));
        }
        if let Some(proof) = self.each_listed(shape, owed) {
            return proof;
        }
        self.chain += 1;
        let mut proof = Ok(());
        for keyword in map.keys() {
            proof = self.keyword(shape, owed, keyword);
            if proof.is_err() {
                break;
            }
        }
        self.chain -= 1;
        proof
    }

    /// A shape with finitely many values is run through the validator, value by value.
    fn each_listed(&self, shape: &Shape<'a>, owed: Node<'a>) -> Option<Proof> {
        let listed = shape.listed()?;
        if listed.iter().any(number::has_huge_number) || self.schemas.has_unseen_format(owed) {
            return None;
        }
        for value in listed.into_iter().filter(|value| self.schemas.all_accept(&shape.parts, value)) {
            match self.schemas.accepts(owed, &value) {
                Some(true) => {}
                Some(false) => return Some(Err(self.reason("a listed value that is refused now"))),
                None => return None,
            }
        }
        Some(Ok(()))
    }

    fn keyword(&mut self, shape: &Shape<'a>, owed: Node<'a>, keyword: &str) -> Proof {
        match keyword {
            "$ref" => match self.schemas.target(owed) {
                Some(target) => self.satisfies(shape, target),
                None => Err(self.reason("a $ref that can't be followed")),
            },
            "allOf" => owed.list(keyword).try_for_each(|part| self.satisfies(shape, part)),
            "anyOf" => self.one_of_them(shape, owed, keyword, false),
            "oneOf" => self.one_of_them(shape, owed, keyword, true),
            "not" => match owed.child(keyword) {
                Some(refused) if self.has(shape, owed, &[keyword]) || self.excludes(shape, refused) => Ok(()),
                _ => Err(self.reason("`not`")),
            },
            "if" => self.condition(shape, owed),
            "type" => self.kind(shape, owed),
            "enum" | "const" => {
                if self.has(shape, owed, &[keyword]) {
                    Ok(())
                } else {
                    Err(self.reason("a list of values where there was none"))
                }
            }
            "$dynamicRef" | "$recursiveRef" | "additionalItems" | "dependencies" | "dependentRequired"
            | "dependentSchemas" => self.dependent(shape, owed, keyword),
            _ => self.by_kind(shape, owed, keyword),
        }
    }

    fn kind(&mut self, shape: &Shape<'a>, owed: Node<'a>) -> Proof {
        let types = types(owed).unwrap_or_default();
        let whole = || {
            shape.integer || shape.parts.iter().any(|part| part.get("multipleOf").is_some_and(Value::is_u64))
        };
        if types.contains(&shape.kind.name())
            || (shape.kind == super::shape::Kind::Number && types.contains(&"integer") && whole())
        {
            Ok(())
        } else {
            Err(self.reason("a type that is refused now"))
        }
    }

    /// A branch that takes all of the shape; of `oneOf` no other branch may take any of it.
    fn one_of_them(&mut self, shape: &Shape<'a>, owed: Node<'a>, keyword: &str, exactly: bool) -> Proof {
        if self.has(shape, owed, &[keyword]) {
            return Ok(());
        }
        let branches: Vec<Node<'a>> = owed.list(keyword).collect();
        let mut first = None;
        for (index, branch) in branches.iter().enumerate() {
            match self.satisfies(shape, *branch) {
                Ok(()) if !exactly => return Ok(()),
                Ok(()) => {
                    let others = branches.iter().enumerate().filter(|(other, _)| *other != index);
                    for (_, other) in others {
                        if !self.excludes(shape, *other) {
                            return Err(self.reason("`oneOf` branches that may overlap"));
                        }
                    }
                    return Ok(());
                }
                Err(reason) => first = first.or(Some(reason)),
            }
        }
        Err(match (branches.len(), first) {
            (1, Some(reason)) => reason,
            _ => self.reason(&format!("no single branch of `{keyword}` takes all that was taken")),
        })
    }

    fn condition(&mut self, shape: &Shape<'a>, owed: Node<'a>) -> Proof {
        if self.has(shape, owed, &["if", "then", "else"]) {
            return Ok(());
        }
        let Some(condition) = owed.child("if") else { return Ok(()) };
        let (yes, no) = (owed.child("then"), owed.child("else"));
        // Each side is owed unless the condition is known to go the other way.
        if let Some(yes) = yes
            && !self.excludes(shape, condition)
        {
            self.satisfies(shape, yes)?;
        }
        if let Some(no) = no
            && self.satisfies(shape, condition).is_err()
        {
            self.satisfies(shape, no)?;
        }
        Ok(())
    }

    /// Whether a part of the shape says the same under all of these keywords.
    pub(super) fn has(&self, shape: &Shape<'a>, owed: Node<'a>, keywords: &[&str]) -> bool {
        shape.parts.iter().any(|part| {
            part.get(keywords[0]).is_some()
                && keywords.iter().all(|keyword| self.schemas.same_keyword(*part, owed, keyword))
        })
    }

    /// Runs a proof about a value inside this one.
    pub(super) fn inside<T>(&mut self, place: &str, proof: impl FnOnce(&mut Self) -> T) -> T {
        let chain = std::mem::take(&mut self.chain);
        self.place.push(place.to_owned());
        let outcome = proof(self);
        self.place.pop();
        self.chain = chain;
        outcome
    }

    pub(super) fn reason(&self, what: &str) -> String {
        let place: String = self.place.iter().map(|segment| format!("/{segment}")).collect();
        if place.is_empty() { what.to_owned() } else { format!("{place}: {what}") }
    }

    /// Registers a claim, unless it is met again; a new one has to be popped.
    fn meet(&mut self, known: &[Node<'a>], owed: Option<Node<'a>>) -> Met {
        let mut known: Vec<usize> = known.iter().map(|node| node.id()).collect();
        known.sort_unstable();
        known.dedup();
        let (owed, level) = (owed.map(Node::id), self.place.len());
        let again = self.claims.iter().rev().find(|claim| claim.owed == owed && claim.known == known);
        self.steps += 1;
        match again {
            Some(claim) if claim.level < level => Met::Smaller,
            Some(_) => Met::Circle,
            None if level > DEPTH || self.steps > STEPS => Met::Circle,
            None => {
                self.claims.push(Claim { known, owed, level });
                Met::New
            }
        }
    }
}

//! What objects owe: property by property, and for all names that nobody mentions.

use std::collections::BTreeSet;

use serde_json::Value;

use super::names::{Evaluated, always_evaluated, may_evaluate};
use super::prove::{Proof, Prover};
use super::scalar::{least, most};
use super::schema::{NOTHING, Node};
use super::schemas::Schemas;
use super::shape::Shape;

/// Ways an unmentioned name may match the patterns of a shape, beyond which they are not told apart.
const WAYS: usize = 64;

impl<'a> Schemas<'a> {
    /// What is known of the property `name`, if it is there. `NOTHING` among it: it can't be.
    pub(super) fn property(&self, shape: &Shape<'a>, name: &str) -> Vec<Node<'a>> {
        let mut known = Vec::new();
        for part in &shape.parts {
            let mut mentioned = false;
            if let Some(schema) = part.get("properties").and_then(|all| all.get(name)) {
                known.push(part.at(schema));
                mentioned = true;
            }
            for (pattern, schema) in part.named("patternProperties") {
                match self.matches(pattern, name) {
                    Some(true) => known.push(schema),
                    Some(false) => continue,
                    None => {}
                }
                mentioned = true;
            }
            if !mentioned {
                known.extend(part.child("additionalProperties"));
            }
            if let Some(rest) = part.child("unevaluatedProperties")
                && may_evaluate(self, *part).is_some_and(|names| !names.contains(name))
            {
                known.push(rest);
            }
            if let Some(names) = part.child("propertyNames")
                && self.accepts(names, &Value::from(name)) == Some(false)
            {
                known.push(Node::new(part.side, NOTHING));
            }
        }
        known
    }

    /// What is known of a property that no one mentions by name: one list for each way it may match
    /// the shape's patterns, other than those that `skip` says are no concern.
    fn unmentioned(
        &self,
        shape: &Shape<'a>,
        skip: impl Fn(&str) -> bool,
        only: Option<&str>,
    ) -> Vec<Vec<Node<'a>>> {
        let mut ways: Vec<Vec<Node<'a>>> = vec![Vec::new()];
        for part in &shape.parts {
            let mut options = vec![part.child("additionalProperties")];
            options.extend(
                part.named("patternProperties").filter(|(p, _)| !skip(p)).map(|(_, schema)| Some(schema)),
            );
            if let Some(same) = only.and_then(|pattern| part.get("patternProperties")?.get(pattern)) {
                options = vec![Some(part.at(same))];
            }
            let rest = part.child("unevaluatedProperties").filter(|_| may_evaluate(self, *part).is_some());
            if ways.len() * options.len() > WAYS {
                continue;
            }
            ways = ways
                .iter()
                .flat_map(|way| {
                    options.iter().map(move |option| way.iter().copied().chain(*option).chain(rest).collect())
                })
                .collect();
        }
        ways
    }

    /// Every name that the shape, or the schema that is owed, mentions.
    pub(super) fn mentioned(&self, parts: &[Node<'a>]) -> BTreeSet<&'a str> {
        let mut names = BTreeSet::new();
        for part in parts {
            names.extend(part.named("properties").map(|(name, _)| name));
            names.extend(part.words("required"));
            if part.get("unevaluatedProperties").is_some() {
                names.extend(may_evaluate(self, *part).unwrap_or_default());
            }
        }
        names
    }
}

/// The names that must be there.
pub(super) fn required<'a>(shape: &Shape<'a>) -> BTreeSet<&'a str> {
    shape.parts.iter().flat_map(|part| part.words("required")).collect()
}

impl<'a> Prover<'_, 'a> {
    pub(super) fn object(&mut self, shape: &Shape<'a>, owed: Node<'a>, keyword: &str) -> Proof {
        match keyword {
            "properties" => {
                for (name, schema) in owed.named(keyword) {
                    self.property_owes(shape, name, schema)?;
                }
                Ok(())
            }
            "patternProperties" => {
                for (pattern, schema) in owed.named(keyword) {
                    for name in self.schemas.mentioned(&with(shape, owed)) {
                        if self.schemas.matches(pattern, name) != Some(false) {
                            self.property_owes(shape, name, schema)?;
                        }
                    }
                    self.rest_owes(self.schemas.unmentioned(shape, |_| false, Some(pattern)), schema)?;
                }
                Ok(())
            }
            "additionalProperties" => {
                let Some(rest) = owed.child(keyword) else { return Ok(()) };
                let own = Evaluated::of_properties(owed);
                self.unevaluated(shape, owed, &own, rest)
            }
            "unevaluatedProperties" => {
                let Some(rest) = owed.child(keyword) else { return Ok(()) };
                match always_evaluated(self.schemas, owed) {
                    Some(evaluated) => self.unevaluated(shape, owed, &evaluated, rest),
                    None => Ok(()),
                }
            }
            "propertyNames" => self.names(shape, owed),
            "required" => {
                let known = required(shape);
                match owed.words(keyword).find(|name| !known.contains(name)) {
                    Some(name) => Err(self.reason(&format!("property {name:?} is required now"))),
                    None => Ok(()),
                }
            }
            _ => self.count(shape, owed, keyword),
        }
    }

    fn property_owes(&mut self, shape: &Shape<'a>, name: &str, owed: Node<'a>) -> Proof {
        let known = self.schemas.property(shape, name);
        self.inside(name, |prover| prover.contains(&known, owed))
    }

    fn rest_owes(&mut self, ways: Vec<Vec<Node<'a>>>, owed: Node<'a>) -> Proof {
        ways.into_iter().try_for_each(|known| self.inside("*", |prover| prover.contains(&known, owed)))
    }

    /// Every property outside `evaluated` satisfies `rest`.
    fn unevaluated(
        &mut self,
        shape: &Shape<'a>,
        owed: Node<'a>,
        evaluated: &Evaluated<'a>,
        rest: Node<'a>,
    ) -> Proof {
        for name in self.schemas.mentioned(&with(shape, owed)) {
            let covered = evaluated.names.contains(name)
                || evaluated.patterns.iter().any(|pattern| self.schemas.matches(pattern, name) == Some(true));
            if !covered {
                self.property_owes(shape, name, rest)?;
            }
        }
        let skip = |pattern: &str| evaluated.patterns.contains(pattern);
        self.rest_owes(self.schemas.unmentioned(shape, skip, None), rest)
    }

    fn names(&mut self, shape: &Shape<'a>, owed: Node<'a>) -> Proof {
        if self.has(shape, owed, &["propertyNames"]) {
            return Ok(());
        }
        let Some(names) = owed.child("propertyNames") else { return Ok(()) };
        if self.schemas.has_unseen_format(names) || !self.is_closed(shape) {
            return Err(self.reason("`propertyNames` is new or changed"));
        }
        for name in self.schemas.mentioned(&shape.parts) {
            if self.schemas.accepts(names, &Value::from(name)) != Some(true) && !self.absent(shape, name) {
                return Err(self.reason(&format!("the name {name:?} may be refused now")));
            }
        }
        Ok(())
    }

    fn count(&mut self, shape: &Shape<'a>, owed: Node<'a>, keyword: &str) -> Proof {
        let limit = owed.get(keyword).and_then(Value::as_u64);
        let proved = self.has(shape, owed, &[keyword])
            || match (keyword, limit) {
                ("minProperties", Some(limit)) => {
                    let known = most(shape, keyword).unwrap_or(0).max(required(shape).len() as u64);
                    known >= limit
                }
                ("maxProperties", Some(limit)) => {
                    least(shape, keyword).is_some_and(|known| known <= limit)
                        || (self.is_closed(shape) && self.possible(shape).len() as u64 <= limit)
                }
                _ => false,
            };
        if proved { Ok(()) } else { Err(self.reason(&format!("`{keyword}` is new or changed"))) }
    }

    /// Names that are mentioned and not ruled out.
    fn possible(&mut self, shape: &Shape<'a>) -> Vec<&'a str> {
        self.schemas.mentioned(&shape.parts).into_iter().filter(|name| !self.absent(shape, name)).collect()
    }

    /// Whether no name is possible but those mentioned.
    fn is_closed(&mut self, shape: &Shape<'a>) -> bool {
        let ways = self.schemas.unmentioned(shape, |_| false, None);
        ways.iter().all(|known| self.inside("*", |prover| prover.nothing(known)))
    }

    pub(super) fn absent(&mut self, shape: &Shape<'a>, name: &str) -> bool {
        let known = self.schemas.property(shape, name);
        self.inside(name, |prover| prover.nothing(&known))
    }

    /// Keywords that tie properties together: the same as before, or settled by what is required.
    pub(super) fn dependent(&mut self, shape: &Shape<'a>, owed: Node<'a>, keyword: &str) -> Proof {
        if self.has(shape, owed, &[keyword])
            || shape.kind != super::shape::Kind::Object && keyword.starts_with("depend")
        {
            return Ok(());
        }
        if keyword == "dependentRequired" {
            let known = required(shape);
            let triggers = owed.get(keyword).and_then(Value::as_object).into_iter().flatten();
            let mut unsettled = triggers.filter(|(name, wanted)| {
                let wanted = wanted.as_array().into_iter().flatten().filter_map(Value::as_str);
                !wanted.into_iter().all(|wanted| known.contains(wanted)) && !self.absent(shape, name)
            });
            if unsettled.next().is_none() {
                return Ok(());
            }
        }
        if keyword == "dependentSchemas" {
            for (name, schema) in owed.named(keyword) {
                if !self.absent(shape, name) {
                    self.satisfies(shape, schema)?;
                }
            }
            return Ok(());
        }
        Err(self.reason(&format!("`{keyword}` is new or changed")))
    }
}

fn with<'a>(shape: &Shape<'a>, owed: Node<'a>) -> Vec<Node<'a>> {
    shape.parts.iter().copied().chain([owed]).collect()
}

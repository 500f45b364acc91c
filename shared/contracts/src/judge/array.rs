//! What arrays owe: position by position, then for all positions after those.

use serde_json::Value;

use super::prove::{Proof, Prover};
use super::scalar::{least, most};
use super::schema::Node;
use super::schemas::Schemas;
use super::shape::Shape;

/// Positions looked at one by one.
const POSITIONS: u64 = 64;

impl<'a> Schemas<'a> {
    /// What is known of the item at a position, if it is there.
    pub(super) fn item(&self, shape: &Shape<'a>, index: u64) -> Vec<Node<'a>> {
        shape
            .parts
            .iter()
            .filter_map(|part| {
                let listed =
                    usize::try_from(index).ok().and_then(|index| part.list("prefixItems").nth(index));
                listed.or_else(|| part.child("items"))
            })
            .collect()
    }
}

/// How many positions have schemas of their own.
pub(super) fn prefix(parts: &[Node<'_>]) -> u64 {
    parts.iter().map(|part| part.list("prefixItems").count() as u64).max().unwrap_or(0)
}

impl<'a> Prover<'_, 'a> {
    pub(super) fn array(&mut self, shape: &Shape<'a>, owed: Node<'a>, keyword: &str) -> Proof {
        let most_items = self.most_items(shape);
        match keyword {
            "prefixItems" => {
                for (index, schema) in (0..).zip(owed.list(keyword)) {
                    if most_items.is_none_or(|most| index < most) {
                        self.item_owes(shape, index, schema)?;
                    }
                }
                Ok(())
            }
            "items" => match owed.child(keyword) {
                Some(schema) => self.items(shape, owed, schema, most_items),
                None => Ok(()),
            },
            // Beside `prefixItems` and `items` alone it is `items` by another name.
            "unevaluatedItems" => match owed.child(keyword) {
                _ if self.has_any(owed, &["items"]) && !applies_in_place(owed) => Ok(()),
                Some(schema) if !applies_in_place(owed) => self.items(shape, owed, schema, most_items),
                _ => Err(self.reason("`unevaluatedItems`")),
            },
            "contains" => self.some_item(shape, owed),
            _ => self.items_count(shape, owed, keyword, most_items),
        }
    }

    /// All items after the prefix.
    fn items(
        &mut self,
        shape: &Shape<'a>,
        owed: Node<'a>,
        schema: Node<'a>,
        most_items: Option<u64>,
    ) -> Proof {
        let first = prefix(&[owed]);
        let last = prefix(&shape.parts).max(first);
        for index in first..last {
            if most_items.is_none_or(|most| index < most) {
                self.item_owes(shape, index, schema)?;
            }
        }
        if most_items.is_none_or(|most| last < most) { self.item_owes(shape, last, schema) } else { Ok(()) }
    }

    fn item_owes(&mut self, shape: &Shape<'a>, index: u64, owed: Node<'a>) -> Proof {
        let known = self.schemas.item(shape, index);
        self.inside(&index.to_string(), |prover| prover.contains(&known, owed))
    }

    /// `contains`: as before, or one position that is always there is known to be such an item.
    fn some_item(&mut self, shape: &Shape<'a>, owed: Node<'a>) -> Proof {
        if self.has(shape, owed, &["contains", "minContains", "maxContains"]) {
            return Ok(());
        }
        let least_wanted = owed.get("minContains").map_or(Some(1), Value::as_u64);
        if owed.get("maxContains").is_none()
            && let (Some(wanted), Some(schema)) = (least_wanted, owed.child("contains"))
        {
            let always = most(shape, "minItems").unwrap_or(0).min(POSITIONS);
            let mut found = 0;
            for index in 0..always {
                if found >= wanted {
                    break;
                }
                found += u64::from(self.item_owes(shape, index, schema).is_ok());
            }
            if found >= wanted {
                return Ok(());
            }
        }
        Err(self.reason("`contains` is new or changed"))
    }

    fn items_count(
        &mut self,
        shape: &Shape<'a>,
        owed: Node<'a>,
        keyword: &str,
        most_items: Option<u64>,
    ) -> Proof {
        let limit = owed.get(keyword).and_then(Value::as_u64);
        let proved = self.has(shape, owed, &[keyword])
            || match (keyword, limit) {
                ("minItems", Some(limit)) => {
                    limit == 0 || most(shape, keyword).is_some_and(|known| known >= limit)
                }
                ("maxItems", Some(limit)) => most_items.is_some_and(|known| known <= limit),
                ("uniqueItems", _) => {
                    owed.get(keyword) == Some(&Value::Bool(false)) || most_items.is_some_and(|most| most <= 1)
                }
                _ => false,
            };
        if proved { Ok(()) } else { Err(self.reason(&format!("`{keyword}` is new or changed"))) }
    }

    /// The most items there can be, by `maxItems` or because a position can hold nothing.
    fn most_items(&mut self, shape: &Shape<'a>) -> Option<u64> {
        let limit = least(shape, "maxItems");
        let last = prefix(&shape.parts);
        let end = (last <= POSITIONS).then(|| (0..=last).find(|index| self.no_item(shape, *index))).flatten();
        [limit, end].into_iter().flatten().min()
    }

    /// Whether no value can stand at a position.
    pub(super) fn no_item(&mut self, shape: &Shape<'a>, index: u64) -> bool {
        let known = self.schemas.item(shape, index);
        self.inside(&index.to_string(), |prover| prover.nothing(&known))
    }

    fn has_any(&self, node: Node<'a>, keywords: &[&str]) -> bool {
        keywords.iter().any(|keyword| node.get(keyword).is_some())
    }
}

/// Whether schemas beside it may look at items too.
fn applies_in_place(node: Node<'_>) -> bool {
    ["$ref", "allOf", "anyOf", "oneOf", "if", "not", "contains", "dependentSchemas", "$dynamicRef"]
        .iter()
        .any(|keyword| node.get(keyword).is_some())
}

//! A payload as a tree that borrows its texts, for validators to walk.
//!
//! `serde_json::Value` copies every string and sorts every object; most payloads need neither. A tree is
//! built from a text whose keys are known to differ, see [`compact`](crate::payload::compact).

use std::borrow::Cow;
use std::fmt;

use jsonschema::JsonType;
use jsonschema::json::{Array, Json, Node, NodeIdentity, Object};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Number, Value};

/// From so many members an object is sorted and searched by halves.
const MANY: usize = 16;

/// A JSON value.
#[derive(Debug, Default)]
pub(crate) enum Tree<'t> {
    #[default]
    Null,
    Bool(bool),
    Number(Number),
    Text(Cow<'t, str>),
    List(Vec<Tree<'t>>),
    Object(Vec<Member<'t>>),
}

type Member<'t> = (Cow<'t, str>, Tree<'t>);

impl<'t> Tree<'t> {
    /// # Errors
    /// serde_json's, when the text is no JSON that can be read.
    pub(crate) fn parse(text: &'t str) -> serde_json::Result<Self> {
        serde_json::from_str(text)
    }
}

impl<'de: 't, 't> Deserialize<'de> for Tree<'t> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TreeVisitor)
    }
}

struct TreeVisitor;

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Tree<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Tree::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Tree::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        Ok(Tree::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        Ok(Tree::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        // As serde_json does; a text holds no number that isn't finite.
        Ok(Number::from_f64(value).map_or(Tree::Null, Tree::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Self::Value, E> {
        Ok(Tree::Text(Cow::Owned(value.to_owned())))
    }

    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Self::Value, E> {
        Ok(Tree::Text(Cow::Borrowed(value)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Tree::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members: Vec<Member<'de>> = Vec::with_capacity(MANY / 2);
        while let Some(Key(key)) = map.next_key()? {
            members.push((key, map.next_value()?));
        }
        if members.len() >= MANY {
            members.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        }
        Ok(Tree::Object(members))
    }
}

/// A key, borrowed where it has no escapes; a bare `Cow` would always copy.
#[derive(serde::Deserialize)]
#[serde(transparent)]
struct Key<'t>(#[serde(borrow)] Cow<'t, str>);

/// Trees, as the validator's own kind of JSON.
pub(crate) struct Trees;

impl Json for Trees {
    type Node<'a> = &'a Tree<'a>;
    type PreparedKey = String;
    type StringBuffer = Tree<'static>;

    // A look-up walks the members, so one walk for all of them is always cheaper.
    const KEYS_PER_LOOKUP: usize = 4;
    const ACYCLIC: bool = true;

    fn prepare_key(key: &str) -> String {
        key.to_owned()
    }

    fn with_string_node<T>(
        buffer: &mut Tree<'static>,
        string: &str,
        f: impl FnOnce(Self::Node<'_>) -> T,
    ) -> T {
        *buffer = Tree::Text(Cow::Owned(string.to_owned()));
        f(buffer)
    }
}

impl<'a> Node<'a, Trees> for &'a Tree<'a> {
    type Object = Members<'a>;
    type Array = Items<'a>;
    type Number = &'a Number;

    fn as_object(&self) -> Option<Members<'a>> {
        if let Tree::Object(members) = self { Some(Members(members)) } else { None }
    }

    fn as_array(&self) -> Option<Items<'a>> {
        if let Tree::List(items) = self { Some(Items(items)) } else { None }
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        if let Tree::Text(text) = self { Some(Cow::Borrowed(text)) } else { None }
    }

    fn as_number(&self) -> Option<&'a Number> {
        if let Tree::Number(number) = self { Some(number) } else { None }
    }

    fn as_boolean(&self) -> Option<bool> {
        if let Tree::Bool(value) = self { Some(*value) } else { None }
    }

    fn is_null(&self) -> bool {
        matches!(self, Tree::Null)
    }

    fn json_type(&self) -> JsonType {
        match self {
            Tree::Null => JsonType::Null,
            Tree::Bool(_) => JsonType::Boolean,
            Tree::Number(_) => JsonType::Number,
            Tree::Text(_) => JsonType::String,
            Tree::List(_) => JsonType::Array,
            Tree::Object(_) => JsonType::Object,
        }
    }

    fn string_length_within(&self, min: u64, max: u64) -> Option<bool> {
        let Tree::Text(text) = self else { return None };
        // A character takes one to four bytes: often that alone decides.
        let (fewest, most) = (text.len().div_ceil(4) as u64, text.len() as u64);
        if most < min || fewest > max {
            return Some(false);
        }
        let is_sure = min <= fewest && most <= max;
        Some(is_sure || (min..=max).contains(&(text.chars().count() as u64)))
    }

    fn equals_value(&self, expected: &Value) -> bool {
        match (self, expected) {
            // Numbers and what holds them compare by worth, which the validator knows best.
            (Tree::Text(text), expected) => expected.as_str() == Some(text),
            (Tree::Bool(value), expected) => expected.as_bool() == Some(*value),
            (Tree::Null, expected) => expected.is_null(),
            (Tree::Number(number), Value::Number(_)) => {
                jsonschema::json::cmp::equal(&Value::Number(number.clone()), expected)
            }
            (Tree::Number(_), _) => false,
            (Tree::List(_) | Tree::Object(_), expected) => {
                jsonschema::json::cmp::equal(&self.to_value(), expected)
            }
        }
    }

    fn to_value(&self) -> Cow<'a, Value> {
        Cow::Owned(value(self))
    }

    fn identity(&self) -> Option<NodeIdentity> {
        Some(NodeIdentity::new(std::ptr::from_ref::<Tree<'_>>(self).addr()))
    }
}

fn value(tree: &Tree<'_>) -> Value {
    match tree {
        Tree::Null => Value::Null,
        Tree::Bool(value) => Value::Bool(*value),
        Tree::Number(number) => Value::Number(number.clone()),
        Tree::Text(text) => Value::String(text.clone().into_owned()),
        Tree::List(items) => items.iter().map(value).collect(),
        Tree::Object(members) => {
            members.iter().map(|(key, tree)| (key.clone().into_owned(), value(tree))).collect()
        }
    }
}

/// An object's members, in the order they came, or sorted when they are many.
pub(crate) struct Members<'a>(&'a [Member<'a>]);

impl<'a> Object<'a, Trees> for Members<'a> {
    type Node = &'a Tree<'a>;
    type MemberName = &'a str;
    type MembersIter = MembersIter<'a>;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn get(&self, key: &String) -> Option<&'a Tree<'a>> {
        let member = if self.0.len() >= MANY {
            let at = self.0.binary_search_by(|(name, _)| (**name).cmp(key.as_str())).ok()?;
            self.0.get(at)
        } else {
            self.0.iter().find(|(name, _)| *name == *key)
        };
        member.map(|(_, tree)| tree)
    }

    fn members(&self) -> MembersIter<'a> {
        MembersIter(self.0.iter())
    }
}

pub(crate) struct MembersIter<'a>(std::slice::Iter<'a, Member<'a>>);

impl<'a> Iterator for MembersIter<'a> {
    type Item = (&'a str, &'a Tree<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(key, tree)| (&**key, tree))
    }
}

pub(crate) struct Items<'a>(&'a [Tree<'a>]);

impl<'a> Array<'a, Trees> for Items<'a> {
    type Node = &'a Tree<'a>;
    type ElementsIter = std::slice::Iter<'a, Tree<'a>>;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn elements(&self) -> std::slice::Iter<'a, Tree<'a>> {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// The same schema held against the same payload as a tree and as a `Value`.
    fn agree(schema: &Value, payload: &Value) {
        let text = payload.to_string();
        let tree = Tree::parse(&text).unwrap();
        assert_eq!((&tree).to_value().as_ref(), payload);
        let by_tree = jsonschema::options_for::<Trees>().should_validate_formats(true).build(schema).unwrap();
        let by_value = jsonschema::options().should_validate_formats(true).build(schema).unwrap();
        assert_eq!(by_tree.is_valid(&tree), by_value.is_valid(payload), "{schema} {payload}");
        assert_eq!(by_tree.validate(&tree).is_ok(), by_value.validate(payload).is_ok(), "{schema} {payload}");
    }

    fn schemas() -> Vec<Value> {
        let mut schemas = vec![
            json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": false}),
            json!({"type": "object", "propertyNames": {"maxLength": 1}, "minProperties": 2}),
            json!({"patternProperties": {"^a": {"type": "string"}}, "additionalProperties": {"type": "number"}}),
            json!({"unevaluatedProperties": false, "allOf": [{"properties": {"a": true}}, {"properties": {"b": true}}]}),
            json!({"type": "array", "uniqueItems": true, "items": {"$ref": "#"}}),
            json!({"type": ["string", "null"], "minLength": 2, "maxLength": 3}),
            json!({"enum": ["é", 1, 1.5, null, true, [1], {"a": 1}]}),
            json!({"const": {"a": [1.0, "b"]}}),
            json!({"minimum": -1, "multipleOf": 0.5}),
            json!({"contains": {"const": 1}, "maxContains": 1, "prefixItems": [true, {"type": "string"}]}),
            json!({"if": {"required": ["a"]}, "then": {"required": ["b"]}, "dependentRequired": {"b": ["c"]}}),
            json!({"$defs": {"n": {"properties": {"a": {"$ref": "#/$defs/n"}}, "additionalProperties": false}}, "$ref": "#/$defs/n"}),
            json!({"oneOf": [{"required": ["a"]}, {"required": ["b"]}], "not": {"required": ["c"]}}),
        ];
        let many: Vec<String> = (0..20).map(|n| format!("k{n}")).collect();
        let properties: Value = many.iter().map(|key| (key.clone(), json!({"type": "integer"}))).collect();
        schemas.push(json!({"properties": properties, "required": many, "additionalProperties": false}));
        schemas
    }

    #[test]
    fn members_are_found_however_many_there_are() {
        for count in [1, MANY - 1, MANY, 100] {
            let object: Value = (0..count).rev().map(|n| (format!("k{n}"), json!(n))).collect();
            let text = object.to_string();
            let tree = Tree::parse(&text).unwrap();
            let members = (&tree).as_object().unwrap();
            assert_eq!(members.members().count(), count);
            for n in 0..count {
                let found = members.get(&format!("k{n}")).unwrap();
                assert!(found.equals_value(&json!(n)));
            }
            assert!(members.get(&"k".to_owned()).is_none());
        }
    }

    #[test]
    fn texts_are_borrowed() {
        let tree = Tree::parse(r#"{"a":"b"}"#).unwrap();
        let Tree::Object(members) = &tree else { panic!("no object") };
        assert!(matches!(members[0], (Cow::Borrowed("a"), Tree::Text(Cow::Borrowed("b")))));
    }

    #[test]
    fn twenty_keys_are_judged_as_a_value_is() {
        let full: Value = (0..20).map(|n| (format!("k{n}"), json!(n))).collect();
        let mut less = full.clone();
        less.as_object_mut().unwrap().remove("k7");
        let mut more = full.clone();
        more["x"] = json!(1);
        for schema in schemas() {
            [&full, &less, &more].into_iter().for_each(|payload| agree(&schema, payload));
        }
    }

    proptest! {
        #[test]
        fn a_tree_is_judged_as_a_value_is(payload in payload()) {
            for schema in schemas() {
                agree(&schema, &payload);
            }
        }
    }

    fn payload() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Into::into),
            prop_oneof![
                Just(json!(1)),
                Just(json!(1.0)),
                Just(json!(1.5)),
                Just(json!(-7)),
                Just(json!(u64::MAX))
            ],
            "[a\u{e9}\u{1F600}\\\\\"]{0,4}".prop_map(Into::into),
        ];
        leaf.prop_recursive(3, 20, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Into::into),
                prop::collection::btree_map("[abc]{1,2}", inner, 0..4)
                    .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
            ]
        })
    }
}

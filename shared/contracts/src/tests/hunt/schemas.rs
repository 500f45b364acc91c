//! Pairs of schemas: a made-up one, and the same with a few changes; now and then two strangers.

use serde_json::{Map, Value, json};

use super::dice::Dice;
use super::payloads;

pub(super) const NAMES: [&str; 7] = ["a", "b", "c", "x-1", "x-2", "kind", "ab"];
const PATTERNS: [&str; 5] = ["^x-", "^[a-c]$", "a", "^a", "1$"];
const KEYWORDS: [&str; 41] = [
    "type",
    "type",
    "type",
    "enum",
    "const",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "properties",
    "properties",
    "properties",
    "required",
    "required",
    "additionalProperties",
    "additionalProperties",
    "patternProperties",
    "minProperties",
    "maxProperties",
    "propertyNames",
    "items",
    "prefixItems",
    "minItems",
    "maxItems",
    "uniqueItems",
    "contains",
    "anyOf",
    "oneOf",
    "allOf",
    "not",
    "if",
    "unevaluatedProperties",
    "unevaluatedItems",
    "dependentRequired",
    "dependentSchemas",
    "$ref",
];

pub(super) fn pair(dice: &mut Dice) -> (Value, Value) {
    let mut old = root(dice);
    if dice.one_in(12) {
        return (old, root(dice));
    }
    let mut new = old.clone();
    for _ in 0..=dice.below(3) {
        // Some changes go to the old one, so that both directions come up as often.
        let changes = if dice.one_in(2) { &mut new } else { &mut old };
        change(dice, changes, 0);
    }
    (old, new)
}

fn root(dice: &mut Dice) -> Value {
    let mut root = schema(dice, 0, false);
    if let Value::Object(map) = &mut root {
        let defs: Map<String, Value> =
            ["A", "B"].iter().map(|name| ((*name).to_owned(), schema(dice, 1, false))).collect();
        map.insert("$defs".to_owned(), Value::Object(defs));
    }
    root
}

/// `inner`: below a property or an item, where a reference can't run in a circle at one value.
fn schema(dice: &mut Dice, deep: usize, inner: bool) -> Value {
    if dice.one_in(14) {
        return Value::Bool(!dice.one_in(3));
    }
    let mut map = Map::new();
    match dice.below(8) {
        0..=2 if deep < 3 => object(dice, &mut map, deep),
        3 if deep < 3 => array(dice, &mut map, deep),
        _ => {}
    }
    for _ in 0..dice.below(3) + usize::from(map.is_empty()) {
        let keyword = dice.of(&KEYWORDS);
        add(dice, &mut map, keyword, deep, inner);
    }
    Value::Object(map)
}

fn object(dice: &mut Dice, map: &mut Map<String, Value>, deep: usize) {
    add(dice, map, "properties", deep, false);
    map.insert("type".to_owned(), json!("object"));
    if dice.one_in(2) {
        add(dice, map, "required", deep, false);
    }
    if !dice.one_in(3) {
        map.insert("additionalProperties".to_owned(), json!(false));
    }
}

fn array(dice: &mut Dice, map: &mut Map<String, Value>, deep: usize) {
    map.insert("type".to_owned(), json!("array"));
    let keyword = if dice.one_in(3) { "prefixItems" } else { "items" };
    add(dice, map, keyword, deep, false);
}

fn types(dice: &mut Dice) -> Value {
    let all = ["null", "boolean", "integer", "number", "string", "array", "object"];
    if dice.one_in(3) {
        let (one, other) = (dice.of(&all), dice.of(&all));
        if one == other { json!([one]) } else { json!([one, other]) }
    } else {
        json!(dice.of(&all))
    }
}

fn schemas(dice: &mut Dice, deep: usize, inner: bool) -> Value {
    (0..=dice.below(3)).map(|_| schema(dice, deep + 1, inner)).collect()
}

fn named(dice: &mut Dice, deep: usize, names: &[&str]) -> Value {
    let count = 1 + dice.below(3);
    let named = (0..count).map(|_| (dice.of(names).to_owned(), schema(dice, deep + 1, true)));
    Value::Object(named.collect())
}

fn add(dice: &mut Dice, map: &mut Map<String, Value>, keyword: &str, deep: usize, inner: bool) {
    let flat = deep >= 4;
    let value = match keyword {
        "type" => types(dice),
        "enum" => {
            let mut values: Vec<Value> = Vec::new();
            for _ in 0..=dice.below(4) {
                let value = if dice.one_in(6) { payloads::any(dice, 2) } else { payloads::scalar(dice) };
                if !values.contains(&value) {
                    values.push(value);
                }
            }
            Value::Array(values)
        }
        "const" => payloads::any(dice, 2),
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => dice.of(&[
            json!(0),
            json!(1),
            json!(2),
            json!(5),
            json!(9),
            json!(-1),
            json!(0.5),
            json!(2.5),
            json!(1.0),
            json!(9007199254740992u64),
            json!(9007199254740993u64),
            json!(u64::MAX),
            json!(1e300),
        ]),
        "multipleOf" => {
            dice.of(&[json!(1), json!(2), json!(3), json!(4), json!(6), json!(0.5), json!(0.1), json!(2.0)])
        }
        "minLength" | "maxLength" | "minProperties" | "maxProperties" | "minItems" | "maxItems" => {
            json!(dice.below(4))
        }
        "pattern" => json!(dice.of(&PATTERNS)),
        "format" => json!(dice.of(&["uuid", "date", "uri"])),
        "required" => {
            let mut names: Vec<&str> = (0..=dice.below(2)).map(|_| dice.of(&NAMES)).collect();
            names.sort_unstable();
            names.dedup();
            json!(names)
        }
        "uniqueItems" => json!(!dice.one_in(5)),
        "dependentRequired" => json!({dice.of(&NAMES): [dice.of(&NAMES)]}),
        "$ref" if inner => json!(dice.of(&["#/$defs/A", "#/$defs/B", "#"])),
        _ if flat => return,
        "properties" => named(dice, deep, &NAMES),
        "patternProperties" => named(dice, deep, &PATTERNS),
        "dependentSchemas" => json!({dice.of(&NAMES): schema(dice, deep + 1, false)}),
        "items" | "additionalProperties" | "unevaluatedProperties" | "unevaluatedItems" => {
            if dice.one_in(3) {
                json!(false)
            } else {
                schema(dice, deep + 1, true)
            }
        }
        "prefixItems" => schemas(dice, deep, true),
        "propertyNames" => {
            json!({dice.of(&["maxLength", "minLength"]): dice.below(3)})
        }
        "contains" => {
            if dice.one_in(3) {
                map.insert("minContains".to_owned(), json!(dice.below(3)));
            }
            if dice.one_in(4) {
                map.insert("maxContains".to_owned(), json!(dice.below(3)));
            }
            schema(dice, deep + 1, true)
        }
        "anyOf" | "oneOf" | "allOf" => schemas(dice, deep, inner),
        "not" => schema(dice, deep + 2, false),
        "if" => {
            map.insert("then".to_owned(), schema(dice, deep + 1, false));
            if dice.one_in(2) {
                map.insert("else".to_owned(), schema(dice, deep + 1, false));
            }
            schema(dice, deep + 1, false)
        }
        _ => return,
    };
    map.insert(keyword.to_owned(), value);
}

/// A step that a maintainer might make, somewhere in the schema.
fn change(dice: &mut Dice, schema: &mut Value, deep: usize) {
    let Value::Object(map) = schema else {
        *schema = self::schema(dice, 3, false);
        return;
    };
    let keys: Vec<String> = map.keys().cloned().collect();
    if deep < 5 && !dice.one_in(4) && inside(dice, map, &keys, deep) {
        return;
    }
    match dice.below(7) {
        0 | 1 if !keys.is_empty() => {
            let key = dice.of(&keys);
            if key != "$defs" {
                map.remove(&key);
            }
        }
        2 | 3 if !keys.is_empty() => {
            let key = dice.of(&keys);
            bump(dice, map, &key);
        }
        4 => {
            let keyword = dice.of(&KEYWORDS);
            add(dice, map, keyword, 3, false);
        }
        5 if map.get("$defs").is_none() => *schema = json!({"allOf": [schema.clone()]}),
        6 => {
            for (one, other) in [("anyOf", "oneOf"), ("oneOf", "anyOf")] {
                if let Some(list) = map.remove(one) {
                    map.insert(other.to_owned(), list);
                    break;
                }
            }
        }
        _ => {}
    }
}

/// Goes on in a schema below this one.
fn inside(dice: &mut Dice, map: &mut Map<String, Value>, keys: &[String], deep: usize) -> bool {
    if keys.is_empty() {
        return false;
    }
    let key = dice.of(keys);
    match (key.as_str(), map.get_mut(&key)) {
        ("properties" | "patternProperties" | "$defs", Some(Value::Object(named))) => {
            let names: Vec<String> = named.keys().cloned().collect();
            let Some(below) = named.get_mut(&dice.of(&names)) else { return false };
            change(dice, below, deep + 1);
            true
        }
        ("anyOf" | "oneOf" | "allOf" | "prefixItems", Some(Value::Array(list))) => {
            let index = dice.below(list.len());
            change(dice, &mut list[index], deep + 1);
            true
        }
        ("items" | "additionalProperties" | "contains" | "not" | "if" | "then" | "else", Some(below)) => {
            change(dice, below, deep + 1);
            true
        }
        _ => false,
    }
}

/// The same keyword, said a little differently.
fn bump(dice: &mut Dice, map: &mut Map<String, Value>, key: &str) {
    let Some(value) = map.get_mut(key) else { return };
    match value {
        Value::Number(number) if key != "multipleOf" => {
            let step = dice.of(&[1i64, -1]);
            if let Some(whole) = number.as_i64().and_then(|whole| whole.checked_add(step)) {
                *value = json!(if key.starts_with("m") && key.len() > 7 { whole.max(0) } else { whole });
            }
        }
        Value::Array(list) if key == "enum" || key == "required" || key.ends_with("Of") => {
            if dice.one_in(2) && list.len() > 1 {
                list.remove(dice.below(list.len()));
            } else if key == "enum" {
                list.push(payloads::scalar(dice));
            } else if key == "required" {
                list.push(json!(dice.of(&NAMES)));
                list.sort_by_key(Value::to_string);
                list.dedup();
            } else {
                list.push(schema(dice, 3, false));
            }
        }
        Value::Object(named) if key == "properties" => {
            named.insert(dice.of(&NAMES).to_owned(), schema(dice, 3, true));
        }
        Value::Bool(all) => *all = !*all,
        Value::String(kind) if kind == "integer" => *value = json!("number"),
        Value::String(kind) if key == "type" && kind != "null" => *value = json!([kind.clone(), "null"]),
        _ => {}
    }
}

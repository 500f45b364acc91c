//! Payloads from the same few words as the schemas.

use serde_json::{Map, Value, json};

use super::dice::Dice;
use super::schemas::NAMES;

pub(super) fn scalar(dice: &mut Dice) -> Value {
    match dice.below(5) {
        0 => Value::Null,
        1 => Value::Bool(dice.one_in(2)),
        2 => json!(i64::try_from(dice.below(14)).unwrap() - 3),
        3 => dice.of(&[
            json!(0.5),
            json!(1.0),
            json!(2.5),
            json!(-0.0),
            json!(1e300),
            json!(9007199254740993u64),
            json!(9007199254740992.0),
            json!(-1.5),
            json!(u64::MAX),
            json!(i64::MIN),
            json!(18446744073709551616.0),
            json!(4.000000001),
        ]),
        _ => Value::from(dice.of(&[
            "",
            "a",
            "b",
            "ab",
            "abc",
            "abcd",
            "é",
            "日本",
            "0",
            "12",
            "2024-02-29",
            "x-1",
            "a1",
            " ",
            "b48b36ee-0d62-4382-8f6b-17f0b6b3bd77",
            "kind",
            "2024-02-30",
        ])),
    }
}

pub(super) fn any(dice: &mut Dice, deep: usize) -> Value {
    match dice.below(if deep > 3 { 4 } else { 10 }) {
        0..=3 => scalar(dice),
        4 | 5 => (0..dice.below(4)).map(|_| any(dice, deep + 1)).collect(),
        _ => {
            let mut map = Map::new();
            for _ in 0..dice.below(4) {
                map.insert(dice.of(&NAMES).to_owned(), any(dice, deep + 1));
            }
            Value::Object(map)
        }
    }
}

/// One step away from a payload: a part replaced, added, taken out, doubled.
pub(super) fn changed(dice: &mut Dice, payload: Value) -> Value {
    match payload {
        Value::Object(mut map) => {
            let names: Vec<String> = map.keys().cloned().collect();
            match dice.below(5) {
                0 => {
                    map.insert(dice.of(&NAMES).to_owned(), any(dice, 2));
                }
                1 if !names.is_empty() => {
                    map.remove(&dice.of(&names));
                }
                _ if !names.is_empty() => {
                    let name = dice.of(&names);
                    let inner = map.remove(&name).unwrap();
                    map.insert(name, changed(dice, inner));
                }
                _ => {}
            }
            Value::Object(map)
        }
        Value::Array(mut items) => {
            match dice.below(5) {
                0 => items.push(any(dice, 2)),
                1 if !items.is_empty() => {
                    let index = dice.below(items.len());
                    items.remove(index);
                }
                2 if !items.is_empty() => {
                    let index = dice.below(items.len());
                    items.push(items[index].clone());
                }
                _ if !items.is_empty() => {
                    let index = dice.below(items.len());
                    items[index] = changed(dice, items[index].clone());
                }
                _ => {}
            }
            Value::Array(items)
        }
        Value::Number(number) if !dice.one_in(3) => {
            let value = number.as_f64().unwrap();
            json!(value + dice.of(&[1.0, -1.0, 0.5, 0.0]))
        }
        Value::String(text) if !dice.one_in(3) => Value::from(format!("{text}{}", dice.of(&["a", "", "é"]))),
        _ => any(dice, 2),
    }
}

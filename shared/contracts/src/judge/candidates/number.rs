//! Numbers at and around every bound.

use serde_json::{Number, Value};

use super::listed_near;
use crate::judge::number::{self, Bound, End, Exact};
use crate::judge::shape::Shape;

const EVERYDAY: [f64; 11] = [1.0, 0.0, 2.0, -1.0, 0.5, 3.0, 10.0, 1.5, 1000.0, -1000.0, 1e9];

pub(super) fn values(shape: &Shape<'_>, near: &[&Shape<'_>]) -> Vec<Value> {
    let mut numbers: Vec<Number> = Vec::new();
    for part in shape.parts.iter().chain(near.iter().flat_map(|near| &near.parts)) {
        for keyword in ["minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf"] {
            let Some(bound) = part.get(keyword).and_then(Value::as_number) else { continue };
            around(bound, &mut numbers);
        }
    }
    for value in listed_near(near) {
        let Some(number) = value.as_number() else { continue };
        numbers.push(number.clone());
        numbers.extend(number.as_f64().and_then(|value| float(value + 0.5)));
    }
    numbers.extend(EVERYDAY.into_iter().filter_map(float));
    numbers.extend([Number::from(i64::MAX), Number::from(u64::MAX), Number::from(i64::MIN)]);
    // A Rust integer takes no fraction, not even `.0`, and nothing outside its range.
    let range = number::integer_range(shape);
    let inside = |number: &Number| {
        let here = Bound { value: Exact::of(number), exclusive: false };
        range.is_none_or(|(low, high)| here.within(low, End::Lower) && here.within(high, End::Upper))
            && (!shape.integer || !number.is_f64())
    };
    numbers.into_iter().filter(inside).map(Value::Number).collect()
}

fn around(bound: &Number, numbers: &mut Vec<Number>) {
    numbers.push(bound.clone());
    if let Some(whole) = bound.as_i64() {
        let steps = [1, -1, 2].into_iter().filter_map(|step| whole.checked_add(step));
        numbers.extend(steps.chain(whole.checked_mul(2)).chain(whole.checked_mul(3)).map(Number::from));
    }
    if let Some(value) = bound.as_f64() {
        let nearby = [
            value + 0.5,
            value - 0.5,
            value + 1.0,
            value - 1.0,
            value * 3.0,
            value * 7.0,
            value / 2.0,
            value + 1e-9,
        ];
        numbers.extend(nearby.into_iter().filter_map(float));
    }
}

/// The number, as an integer where it is one.
fn float(value: f64) -> Option<Number> {
    if value.fract() == 0.0 && value.abs() < 9e15 {
        Some(Number::from(value as i64))
    } else {
        Number::from_f64(value)
    }
}

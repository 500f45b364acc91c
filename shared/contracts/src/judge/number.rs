//! Numbers compared exactly, and what a Rust number type takes.

use std::cmp::Ordering;

use serde_json::{Number, Value};

use super::shape::Shape;

/// Beyond this a float no longer tells neighbouring integers apart.
const EXACT: i128 = 1 << 53;

/// A JSON number without rounding.
#[derive(Debug, Clone, Copy)]
pub(super) enum Exact {
    Whole(i128),
    Float(f64),
}

impl Exact {
    pub(super) fn of(number: &Number) -> Self {
        match (number.as_i64(), number.as_u64()) {
            (Some(whole), _) => Self::Whole(whole.into()),
            (_, Some(whole)) => Self::Whole(whole.into()),
            _ => Self::Float(number.as_f64().unwrap_or(f64::NAN)),
        }
    }

    pub(super) fn compare(self, other: Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Whole(a), Self::Whole(b)) => Some(a.cmp(&b)),
            (Self::Float(a), Self::Float(b)) => a.partial_cmp(&b),
            (Self::Whole(a), Self::Float(b)) => whole_to_float(a, b),
            (Self::Float(a), Self::Whole(b)) => whole_to_float(b, a).map(Ordering::reverse),
        }
    }

    /// The value, where it has no fraction and neighbours can be told apart.
    fn whole(self) -> Option<i128> {
        match self {
            Self::Whole(whole) if whole.abs() < EXACT => Some(whole),
            Self::Float(float) if float.fract() == 0.0 && float.abs() < EXACT as f64 => Some(float as i128),
            _ => None,
        }
    }
}

fn whole_to_float(whole: i128, float: f64) -> Option<Ordering> {
    if float.is_nan() {
        return None;
    }
    // Whole numbers here have 64 bits and a sign: beyond 2^100 only the sign matters.
    if float.abs() > 2f64.powi(100) {
        return Some(if float > 0.0 { Ordering::Less } else { Ordering::Greater });
    }
    let floor = float.floor();
    Some(whole.cmp(&(floor as i128)).then(if float > floor { Ordering::Less } else { Ordering::Equal }))
}

/// One end of a range.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bound {
    pub(super) value: Exact,
    pub(super) exclusive: bool,
}

/// Which end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Lower,
    Upper,
}

impl End {
    pub(super) fn keywords(self) -> [(&'static str, bool); 2] {
        match self {
            Self::Lower => [("minimum", false), ("exclusiveMinimum", true)],
            Self::Upper => [("maximum", false), ("exclusiveMaximum", true)],
        }
    }

    fn outward(self) -> Ordering {
        match self {
            Self::Lower => Ordering::Less,
            Self::Upper => Ordering::Greater,
        }
    }
}

impl Bound {
    /// Whether everything inside this bound is inside `other`.
    pub(super) fn within(self, other: Self, end: End) -> bool {
        match self.value.compare(other.value) {
            Some(Ordering::Equal) => self.exclusive || !other.exclusive,
            Some(order) => order != end.outward(),
            None => false,
        }
    }

    /// For integers: the last one inside.
    fn tightened(self, end: End) -> Self {
        let step = if end == End::Lower { 1 } else { -1 };
        match self.value.whole() {
            Some(whole) if self.exclusive => Self { value: Exact::Whole(whole + step), exclusive: false },
            Some(_) => self,
            None => match self.value {
                Exact::Float(float) if float.abs() < EXACT as f64 => {
                    let rounded = if end == End::Lower { float.ceil() } else { float.floor() };
                    Self { value: Exact::Whole(rounded as i128), exclusive: false }
                }
                _ => self,
            },
        }
    }
}

/// The tightest bound that the parts of a shape set at one end.
pub(super) fn bound(shape: &Shape<'_>, end: End) -> Option<Bound> {
    let bounds = shape.parts.iter().flat_map(|part| {
        end.keywords().into_iter().filter_map(|(keyword, exclusive)| {
            let value = Exact::of(part.get(keyword)?.as_number()?);
            Some(Bound { value, exclusive })
        })
    });
    tightest(bounds.map(|bound| if shape.integer { bound.tightened(end) } else { bound }), end)
}

fn tightest(bounds: impl Iterator<Item = Bound>, end: End) -> Option<Bound> {
    bounds.reduce(|best, bound| if bound.within(best, end) { bound } else { best })
}

/// Whether no number is left between the bounds.
pub(super) fn is_empty(shape: &Shape<'_>) -> bool {
    let (Some(lower), Some(upper)) = (bound(shape, End::Lower), bound(shape, End::Upper)) else {
        return false;
    };
    match lower.value.compare(upper.value) {
        Some(Ordering::Greater) => true,
        Some(Ordering::Equal) => lower.exclusive || upper.exclusive,
        _ => false,
    }
}

/// What an integer format of schemars allows, which the validator doesn't see but the Rust type
/// enforces: whole numbers in this range, written without a fraction.
pub(super) fn integer_format(format: &str) -> Option<(i128, i128)> {
    Some(match format {
        "int8" => (i8::MIN.into(), i8::MAX.into()),
        "int16" => (i16::MIN.into(), i16::MAX.into()),
        "int32" => (i32::MIN.into(), i32::MAX.into()),
        "int64" | "int" => (i64::MIN.into(), i64::MAX.into()),
        "uint8" => (0, u8::MAX.into()),
        "uint16" => (0, u16::MAX.into()),
        "uint32" => (0, u32::MAX.into()),
        "uint64" | "uint" => (0, u64::MAX.into()),
        _ => return None,
    })
}

/// The range that the integer formats of a shape leave, its written bounds included; nothing when
/// it has no such format.
pub(super) fn integer_range(shape: &Shape<'_>) -> Option<(Bound, Bound)> {
    let formats = shape.parts.iter().filter_map(|part| integer_format(part.get("format")?.as_str()?));
    let (low, high) = formats.reduce(|a, b| (a.0.max(b.0), a.1.min(b.1)))?;
    let whole = |value| Bound { value: Exact::Whole(value), exclusive: false };
    let end = |value, end| tightest([Some(whole(value)), bound(shape, end)].into_iter().flatten(), end);
    Some((end(low, End::Lower)?, end(high, End::Upper)?))
}

/// Whether a value holds a number that equality can't be trusted with.
pub(super) fn has_huge_number(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.as_f64().is_none_or(|float| float.abs() >= EXACT as f64),
        Value::Array(items) => items.iter().any(has_huge_number),
        Value::Object(map) => map.values().any(has_huge_number),
        _ => false,
    }
}

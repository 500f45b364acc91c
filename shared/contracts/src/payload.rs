//! The checks on one payload that no contract can loosen.
//!
//! A payload arrives as JSON text whose syntax is known to be right ([`RawValue`] saw to it), but
//! `RawValue` lets through what no parser after us could read: lone surrogates, numbers beyond
//! `f64`, any nesting, the same key twice. Order: nesting, measured without recursion; then the
//! text's own sense. Only after that may a recursive parser see the text.

use std::borrow::Cow;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::limits::{PAYLOAD_BYTES, PAYLOAD_NESTING, REASON_BYTES};
use crate::scan::{Scanned, scan};

/// A payload that passed every check of its stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked<'a> {
    /// The sender's own text, compacted; numbers and strings literally. What the outbox stores.
    pub stored: Cow<'a, str>,
    /// What the consumer receives: `stored` again for a JSON Schema stream, the type's own
    /// serialisation for a typed one.
    pub output: Cow<'a, str>,
}

/// Why a payload can't be taken. The text names the place and the rule, never a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PayloadFault {
    /// The text is not JSON at all; only a client can meet this, ingest has parsed by then.
    #[error("payload is not JSON (line {line}, column {column})")]
    NotJson {
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
    },
    /// Deeper than [`PAYLOAD_NESTING`] levels.
    #[error("payload nests deeper than {PAYLOAD_NESTING} levels")]
    Nesting,
    /// One object has the same key twice, compared decoded.
    #[error("payload{place}: the same key twice in one object")]
    DuplicateKey {
        /// JSON pointer of the object, cut to fit.
        place: String,
    },
    /// A string holds a lone surrogate escape, which is no Unicode text.
    #[error("payload: a string with a lone surrogate escape")]
    Surrogate,
    /// A number beyond what a 64-bit float can hold.
    #[error("payload: a number out of range")]
    Number,
    /// The stream's contract refuses it.
    #[error("payload{place}: {rule}")]
    Invalid {
        /// JSON pointer of the value, empty for the root, cut to fit.
        place: String,
        /// The rule broken, without the value.
        rule: String,
    },
    /// The typed contract's output is nothing JSON can carry.
    #[error("payload: the stream's type produced output that JSON can't carry")]
    Unrepresentable,
    /// The compacted text, or the typed output, is too large.
    #[error("payload has {actual} bytes of JSON, the limit is {PAYLOAD_BYTES}")]
    TooLarge {
        /// Bytes of the larger of both.
        actual: usize,
    },
}

impl PayloadFault {
    /// The fault as a verdict's reason, at most 256 bytes.
    #[must_use]
    pub fn reason(&self) -> String {
        crate::text::cut(&self.to_string(), REASON_BYTES).to_owned()
    }

    /// A stable word for metrics and logs.
    #[must_use]
    pub fn tag(&self) -> &'static str {
        match self {
            Self::NotJson { .. } => "not_json",
            Self::Nesting => "nesting",
            Self::DuplicateKey { .. } => "duplicate_key",
            Self::Surrogate => "surrogate",
            Self::Number => "number",
            Self::Invalid { .. } => "invalid",
            Self::Unrepresentable => "unrepresentable",
            Self::TooLarge { .. } => "too_large",
        }
    }
}

/// Places are keys of the payload: enough of one to find it, never a page of it.
pub(crate) const PLACE_BYTES: usize = 96;

/// The raw text of a client's JSON.
pub(crate) fn raw(text: &str) -> Result<&RawValue, PayloadFault> {
    serde_json::from_str(text)
        .map_err(|error| PayloadFault::NotJson { line: error.line(), column: error.column() })
}

/// Checks a JSON text that is no payload, such as a token's claims, the way a payload is checked before
/// its contract: nesting, sound strings and numbers, no key twice in one object. What passes, every
/// parser reads alike.
///
/// # Errors
/// [`PayloadFault`]: `NotJson`, `Nesting`, `DuplicateKey`, `Surrogate` or `Number`.
pub fn check_json(text: &str) -> Result<(), PayloadFault> {
    compact(raw(text)?).map(|_| ())
}

/// Compacts `raw` and runs the checks that come before the contract: nesting, then the text's sense.
pub(crate) fn compact(raw: &RawValue) -> Result<Cow<'_, str>, PayloadFault> {
    let Scanned { compacted, is_plain } = scan(raw.get()).ok_or(PayloadFault::Nesting)?;
    // What is plain makes sense: nothing in it could fail below.
    if !is_plain {
        make_sense(&compacted)?;
    }
    Ok(compacted)
}

/// Reads the text once as a parser would: strings decode, numbers fit, no key comes twice.
pub(crate) fn make_sense(text: &str) -> Result<(), PayloadFault> {
    let mut duplicate = None;
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let outcome = Sense { duplicate: &mut duplicate }.deserialize(&mut deserializer);
    match (duplicate, outcome) {
        (Some(place), _) => {
            Err(PayloadFault::DuplicateKey { place: crate::text::cut(&place, PLACE_BYTES).to_owned() })
        }
        (None, Ok(())) => Ok(()),
        // The text is known to be JSON, so only two things are left to go wrong.
        (None, Err(error)) if error.to_string().starts_with("number out of range") => {
            Err(PayloadFault::Number)
        }
        (None, Err(_)) => Err(PayloadFault::Surrogate),
    }
}

/// Visits every value; `duplicate` becomes the pointer of the first object with a key twice.
struct Sense<'s> {
    duplicate: &'s mut Option<String>,
}

impl<'de> DeserializeSeed<'de> for Sense<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Sense<'_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let mut index = 0usize;
        loop {
            match items.next_element_seed(Sense { duplicate: self.duplicate }) {
                Ok(Some(())) => index += 1,
                Ok(None) => return Ok(()),
                Err(error) => {
                    prefix(self.duplicate, &index.to_string());
                    return Err(error);
                }
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut keys: Vec<Cow<'de, str>> = Vec::new();
        while let Some(key) = map.next_key_seed(Key)? {
            let value = map.next_value_seed(Sense { duplicate: self.duplicate });
            if let Err(error) = value {
                prefix(self.duplicate, &key);
                return Err(error);
            }
            keys.push(key);
        }
        keys.sort_unstable();
        if keys.windows(2).any(|pair| pair[0] == pair[1]) {
            *self.duplicate = Some(String::new());
            return Err(A::Error::custom("duplicate key"));
        }
        Ok(())
    }
}

fn prefix(duplicate: &mut Option<String>, segment: &str) {
    if let Some(place) = duplicate {
        *place = format!("/{}{place}", segment.replace('~', "~0").replace('/', "~1"));
    }
}

/// An object's key, decoded, borrowed where it has no escapes.
struct Key;

impl<'de> DeserializeSeed<'de> for Key {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Key {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a key")
    }

    fn visit_borrowed_str<E>(self, key: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(key))
    }

    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(key.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(text: &str) -> Result<String, PayloadFault> {
        compact(raw(text)?).map(Cow::into_owned)
    }

    #[test]
    fn compacting_touches_white_space_outside_strings_only() {
        let text = " { \"a b\" : [ 1.10 , 1E2,\t-0.0 ,\n12345678901234567890123 ] , \"q\\\" \" : \" x \" } ";
        assert_eq!(check(text).unwrap(), r#"{"a b":[1.10,1E2,-0.0,12345678901234567890123],"q\" ":" x "}"#);
    }

    #[test]
    fn nesting_is_counted_from_the_payloads_root() {
        let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(check("1").is_ok());
        assert!(check(&nested(64)).is_ok());
        for levels in [65, 124, 126, 200, 30_000] {
            assert_eq!(check(&nested(levels)), Err(PayloadFault::Nesting), "{levels}");
        }
        assert!(check(r#""[[[[""#).is_ok(), "brackets in strings don't count");
    }

    #[test]
    fn duplicate_keys_are_compared_decoded_and_located() {
        assert_eq!(
            check(r#"{"a":[1,{"b/c":{"k":1,"\u006b":2}}]}"#),
            Err(PayloadFault::DuplicateKey { place: "/a/1/b~1c".into() })
        );
        assert!(check(r#"{"a":{"k":1},"b":{"k":1}}"#).is_ok());
    }

    #[test]
    fn what_no_parser_could_read_is_a_fault_of_its_own() {
        assert_eq!(check(r#"{"s":"\ud800"}"#), Err(PayloadFault::Surrogate));
        assert_eq!(check(r#"{"\udc00":1}"#), Err(PayloadFault::Surrogate));
        assert_eq!(check(r#"{"n":1e400}"#), Err(PayloadFault::Number));
        assert!(check(r#"{"s":"\ud83d\ude00"}"#).is_ok());
        assert!(matches!(check("{"), Err(PayloadFault::NotJson { line: 1, .. })));
        assert!(matches!(check("1 2"), Err(PayloadFault::NotJson { .. })));
    }

    #[test]
    fn reasons_are_bounded_whatever_the_keys() {
        let text = format!(r#"{{"{}":{{"a":1,"a":2}}}}"#, "é".repeat(10_000));
        let reason = check(&text).unwrap_err().reason();
        assert!(reason.len() <= REASON_BYTES, "{}", reason.len());
    }

    proptest! {
        #[test]
        fn compacting_keeps_the_value(value in json_value(), spaces in 0usize..3) {
            let pretty = match spaces {
                0 => serde_json::to_string(&value),
                _ => serde_json::to_string_pretty(&value),
            }.unwrap();
            let compacted = check(&pretty).unwrap();
            prop_assert_eq!(&compacted, &serde_json::to_string(&value).unwrap());
        }
    }

    fn json_value() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            "\\PC*".prop_map(Into::into),
        ];
        leaf.prop_recursive(5, 40, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Into::into),
                prop::collection::btree_map("[ -~]{0,8}", inner, 0..6)
                    .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
            ]
        })
    }
}

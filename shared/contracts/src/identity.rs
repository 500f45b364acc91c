//! Identity: which verified claim stamps which field.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value};

use crate::limits::IDENTITY_VALUE_BYTES;

/// The path of a claim inside the verified claims, outermost first. Arrays are never indexed.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(transparent)]
pub struct ClaimPath(Vec<String>);

impl ClaimPath {
    /// A path from its segments; whether it is a sound one is judged with the whole registry.
    pub fn new<S: Into<String>>(segments: impl IntoIterator<Item = S>) -> Self {
        Self(segments.into_iter().map(Into::into).collect())
    }

    /// The segments, outermost first.
    #[must_use]
    pub fn segments(&self) -> &[String] {
        &self.0
    }

    /// The claim as the text that an event would be stamped with.
    ///
    /// # Errors
    /// What is the matter with it, in a word or two: absent, null, an object, an array, blank, longer
    /// than 512 bytes.
    pub fn text(&self, claims: &Map<String, Value>) -> Result<String, &'static str> {
        claim_text(claims, self)
    }
}

impl fmt::Display for ClaimPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("."))
    }
}

/// The fields an event is stamped with, each from one claim.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
#[serde(transparent)]
pub struct Identity(pub(crate) BTreeMap<String, ClaimPath>);

/// Why an identity field can't be stamped. Names the field and the path, never the claim's value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("identity {field} can't be stamped: claim {path} is {trouble}")]
pub struct IdentityFault {
    field: String,
    path: String,
    trouble: &'static str,
}

impl Identity {
    /// Whether a stream asks for no identity at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The fields and their paths, in the order of the fields' names.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &ClaimPath)> {
        self.0.iter().map(|(field, path)| (field.as_str(), path))
    }

    /// Stamps every field from verified claims; all or none.
    ///
    /// # Errors
    /// [`IdentityFault`] for the first field whose claim is absent, null, an object, an array,
    /// blank or longer than 512 bytes.
    pub fn stamp(&self, claims: &Map<String, Value>) -> Result<BTreeMap<String, String>, IdentityFault> {
        self.0
            .iter()
            .map(|(field, path)| {
                let value = claim_text(claims, path).map_err(|trouble| IdentityFault {
                    field: field.clone(),
                    path: path.to_string(),
                    trouble,
                })?;
                Ok((field.clone(), value))
            })
            .collect()
    }
}

fn claim_text(claims: &Map<String, Value>, path: &ClaimPath) -> Result<String, &'static str> {
    let mut segments = path.0.iter();
    let mut value = segments.next().and_then(|first| claims.get(first)).ok_or("absent")?;
    for segment in segments {
        value = value.as_object().and_then(|object| object.get(segment)).ok_or("absent")?;
    }
    let text = match value {
        Value::Null => return Err("null"),
        Value::Object(_) => return Err("an object"),
        Value::Array(_) => return Err("an array"),
        Value::Bool(b) => b.to_string(),
        // Past 2^53 the parser rounds integers that fit no 64 bits: two people could share one stamp.
        Value::Number(n) if n.is_f64() && n.as_f64().is_some_and(|f| f.abs() >= 9_007_199_254_740_992.0) => {
            return Err("a number too large to stamp exactly");
        }
        Value::Number(n) => number_text(n),
        Value::String(s) => s.clone(),
    };
    if text.trim().is_empty() {
        return Err("blank");
    }
    if text.len() > IDENTITY_VALUE_BYTES {
        return Err("longer than 512 bytes");
    }
    Ok(text)
}

/// One number, one text, however it was written: `7`, `7.0` and `7e0` are the same person.
fn number_text(number: &serde_json::Number) -> String {
    match number.as_f64() {
        // Below 2^53 a float without a fraction is an integer exactly; `-0.0` becomes `0`.
        #[expect(clippy::cast_possible_truncation, reason = "no fraction, and below 2^53")]
        Some(float) if number.is_f64() && float.fract() == 0.0 => (float as i64).to_string(),
        // serde_json prints integers as their digits and other numbers in shortest form.
        _ => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn stamp(claims: Value, path: &[&str]) -> Result<String, String> {
        let identity = Identity(BTreeMap::from([("who".to_owned(), ClaimPath::new(path.iter().copied()))]));
        identity
            .stamp(claims.as_object().unwrap())
            .map(|mut fields| fields.remove("who").unwrap())
            .map_err(|fault| fault.to_string())
    }

    #[test]
    fn scalars_stamp_as_text() {
        assert_eq!(stamp(json!({"sub": "u1"}), &["sub"]).unwrap(), "u1");
        assert_eq!(stamp(json!({"a": {"b": 42}}), &["a", "b"]).unwrap(), "42");
        assert_eq!(stamp(json!({"a": 18446744073709551615u64}), &["a"]).unwrap(), "18446744073709551615");
        assert_eq!(stamp(json!({"a": 1.5}), &["a"]).unwrap(), "1.5");
        for (written, stamped) in [("7", "7"), ("7.0", "7"), ("1e3", "1000"), ("-0.0", "0"), ("-7.0", "-7")] {
            let claims = serde_json::from_str(&format!("{{\"a\":{written}}}")).unwrap();
            assert_eq!(stamp(claims, &["a"]).unwrap(), stamped, "{written}");
        }
        assert_eq!(stamp(json!({"a": true}), &["a"]).unwrap(), "true");
    }

    #[test]
    fn what_is_no_scalar_text_is_a_fault_that_names_field_and_path_only() {
        for (claims, trouble) in [
            (json!({}), "absent"),
            (json!({"a": {"c": 1}}), "absent"),
            (json!({"a": [{"b": "x"}]}), "absent"),
            (json!({"a": "text"}), "absent"),
            (json!({"a": {"b": null}}), "null"),
            (json!({"a": {"b": {}}}), "an object"),
            (json!({"a": {"b": ["secret"]}}), "an array"),
            (json!({"a": {"b": " \t"}}), "blank"),
            (json!({"a": {"b": 1e22}}), "a number too large to stamp exactly"),
            (json!({"a": {"b": "x".repeat(513)}}), "longer than 512 bytes"),
        ] {
            let fault = stamp(claims, &["a", "b"]).unwrap_err();
            assert_eq!(fault, format!("identity who can't be stamped: claim a.b is {trouble}"));
        }
    }

    #[test]
    fn a_stamp_is_whole_or_not_at_all() {
        let identity = Identity(BTreeMap::from([
            ("a".to_owned(), ClaimPath::new(["sub"])),
            ("b".to_owned(), ClaimPath::new(["missing"])),
        ]));
        assert!(identity.stamp(json!({"sub": "u"}).as_object().unwrap()).is_err());
    }
}

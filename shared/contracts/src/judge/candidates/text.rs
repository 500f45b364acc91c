//! Strings at every length that counts, of every format and pattern in sight.

use serde_json::Value;

use super::{listed_near, pattern};
use crate::judge::shape::Shape;

/// Longer ones are not made: bounds beyond this are left to the proof.
const LONGEST: u64 = 12_000;

const EVERYDAY: [&str; 12] =
    ["a", "", "text", "A", "0", " ", "é", "abc", "ABC-123", "a b", "x@example.com", "2024-02-29"];

pub(super) fn values(shape: &Shape<'_>, near: &[&Shape<'_>]) -> Vec<Value> {
    let mut texts: Vec<String> = Vec::new();
    let parts = || shape.parts.iter().chain(near.iter().flat_map(|near| &near.parts));
    let lengths: Vec<usize> = parts()
        .flat_map(|part| {
            ["minLength", "maxLength"].into_iter().filter_map(|keyword| part.get(keyword)?.as_u64())
        })
        .filter(|length| *length <= LONGEST)
        .flat_map(|length| [length, length + 1, length.saturating_sub(1)])
        .filter_map(|length| usize::try_from(length).ok())
        .collect();
    for part in parts() {
        if let Some(format) = part.get("format").and_then(Value::as_str) {
            let samples = samples(format);
            texts.extend(samples.iter().map(|sample| (*sample).to_owned()));
            for length in &lengths {
                texts.extend(samples.first().and_then(|sample| padded(format, sample, *length)));
            }
        }
        if let Some(pattern) = part.get("pattern").and_then(Value::as_str) {
            texts.extend(pattern::samples(pattern, &lengths));
        }
    }
    texts.extend(lengths.iter().flat_map(|length| ["a".repeat(*length), "é".repeat(*length)]));
    let listed = listed_near(near).filter_map(|value| value.as_str().map(str::to_owned));
    texts.extend(listed.flat_map(|text| [text.to_uppercase(), format!("{text}x"), text]));
    texts.extend(EVERYDAY.map(str::to_owned));
    texts.into_iter().map(Value::from).collect()
}

/// Texts of a format.
pub(super) fn samples(format: &str) -> &'static [&'static str] {
    match format {
        "uuid" => &["b48b36ee-0d62-4382-8f6b-17f0b6b3bd77", "00000000-0000-0000-0000-000000000000"],
        "date-time" => &["2024-02-29T12:30:00Z", "2024-02-29T12:30:00.123+02:00"],
        "date" => &["2024-02-29"],
        "time" => &["12:30:00Z"],
        "duration" => &["P1D", "PT1H30M"],
        "email" | "idn-email" => &["a@example.com"],
        "hostname" | "idn-hostname" => &["example.com"],
        "ipv4" => &["192.0.2.1"],
        "ipv6" => &["2001:db8::1"],
        "uri" | "iri" => &["https://example.com/", "urn:example:a"],
        "uri-reference" | "iri-reference" => &["/a", "https://example.com/"],
        "uri-template" => &["/a/{b}"],
        "json-pointer" => &["/a", ""],
        "relative-json-pointer" => &["0/a"],
        "regex" => &["^a$"],
        // schemars' names for times without a zone and for dates by their parts.
        "partial-date-time" => &["2024-02-29T12:30:00"],
        "partial-time" => &["12:30:00"],
        _ => &[],
    }
}

/// A text of a format made longer.
fn padded(format: &str, sample: &str, length: usize) -> Option<String> {
    let fill = "a".repeat(length.checked_sub(sample.len())?);
    match format {
        "uri" | "iri" | "uri-reference" | "iri-reference" | "json-pointer" => Some(format!("{sample}{fill}")),
        "email" | "idn-email" => Some(format!("{fill}{sample}")),
        _ => None,
    }
}

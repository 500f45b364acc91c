//! `registry explain`: a stream's contract for people.

use std::fmt::Write;

use serde_json::{Map, Value};

use crate::{Stream, judge};

/// Levels of a payload that are listed.
const DEEP: usize = 12;

/// A stream's contract: what it is, whose claim stamps it, its fields with their bounds, an example.
#[must_use]
pub fn explain(stream: &Stream) -> String {
    let mut text = format!("{}\n", stream.name());
    let mut line = |name: &str, value: &str| {
        // Writing to a string can't fail.
        let _ = writeln!(text, "  {name:<9} {value}");
    };
    for keyword in ["title", "description"] {
        if let Some(about) = stream.schema().get(keyword).and_then(Value::as_str) {
            line("about", about);
        }
    }
    let kind = if stream.is_typed() {
        "a Rust type, whose output is what the consumer gets"
    } else {
        "a JSON Schema; the consumer gets the sender's own text"
    };
    line("contract", kind);
    if stream.identity().is_empty() {
        line("identity", "none");
    }
    for (field, path) in stream.identity().fields() {
        line("identity", &format!("{field}, from the claim {path}"));
    }
    if let Some(revision) = stream.revision() {
        line("revision", &revision.to_string());
    }
    text.push_str("  payload\n");
    Walk { root: stream.schema(), text: &mut text, open: Vec::new() }.value("(root)", stream.schema(), "", 2);
    let sound = |payload: &Value| stream.check(&payload.to_string()).is_ok();
    match judge::example(stream.schema(), sound) {
        Some(example) => {
            text.push_str("  example\n");
            for line in format!("{example:#}").lines() {
                let _ = writeln!(text, "    {line}");
            }
        }
        None => text.push_str("  example   none was found: the type refuses more than its schema says\n"),
    }
    text
}

struct Walk<'a> {
    root: &'a Value,
    text: &'a mut String,
    /// The references that the place being told is inside of.
    open: Vec<&'a str>,
}

impl<'a> Walk<'a> {
    /// One line for a value, and what is inside it below.
    fn value(&mut self, name: &str, schema: &'a Value, note: &str, deep: usize) {
        let reference = schema.get("$ref").and_then(Value::as_str);
        let schema = self.target(schema);
        let mut words: Vec<String> = vec![kind(schema)];
        words.extend(schema.as_object().into_iter().flat_map(bounds));
        if !note.is_empty() {
            words.push(note.to_owned());
        }
        let again = reference.is_some_and(|reference| self.open.contains(&reference));
        if again {
            words.push("as above".to_owned());
        }
        let _ = writeln!(self.text, "{}{name}: {}", "  ".repeat(deep), words.join(", "));
        if deep < DEEP && !again {
            self.open.extend(reference);
            self.below(schema, deep + 1);
            self.open.truncate(self.open.len() - usize::from(reference.is_some()));
        }
    }

    fn below(&mut self, schema: &'a Value, deep: usize) {
        let Some(map) = schema.as_object() else { return };
        let required: Vec<&str> = map
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        for (name, property) in map.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let note = if required.contains(&name.as_str()) { "" } else { "optional" };
            self.value(name, property, note, deep);
        }
        for keyword in ["prefixItems", "allOf", "anyOf", "oneOf"] {
            for (index, part) in (1..).zip(map.get(keyword).and_then(Value::as_array).into_iter().flatten()) {
                let name = match keyword {
                    "prefixItems" => format!("[{}]", index - 1),
                    "allOf" => format!("and {index}"),
                    _ => format!("either {index}"),
                };
                self.value(&name, part, "", deep);
            }
        }
        if let Some(items) = map.get("items").filter(|items| items.is_object()) {
            self.value("[*]", items, "", deep);
        }
        if let Some(values) = map.get("additionalProperties").filter(|values| values.is_object()) {
            self.value("any other key", values, "", deep);
        }
    }

    /// What a lone `$ref` stands for.
    fn target(&self, schema: &'a Value) -> &'a Value {
        let mut here = schema;
        for _ in 0..DEEP {
            let pointer =
                here.get("$ref").and_then(Value::as_str).and_then(|reference| reference.strip_prefix('#'));
            match pointer.and_then(|pointer| self.root.pointer(pointer)) {
                Some(target) => here = target,
                None => break,
            }
        }
        here
    }
}

fn kind(schema: &Value) -> String {
    let Some(map) = schema.as_object() else {
        return if schema == &Value::Bool(false) { "nothing" } else { "anything" }.to_owned();
    };
    match map.get("type") {
        Some(Value::String(one)) => one.clone(),
        Some(Value::Array(many)) => many.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or "),
        _ if map.contains_key("properties") => "object".to_owned(),
        _ if map.contains_key("enum") || map.contains_key("const") => "a listed value".to_owned(),
        _ if map.contains_key("anyOf") => "one or more of".to_owned(),
        _ if map.contains_key("oneOf") => "exactly one of".to_owned(),
        _ if map.contains_key("allOf") => "all of".to_owned(),
        _ => "anything".to_owned(),
    }
}

/// The keywords that bound a value, in words.
fn bounds(map: &Map<String, Value>) -> Vec<String> {
    const WORDS: [(&str, &str); 15] = [
        ("const", "is"),
        ("enum", "one of"),
        ("minimum", "at least"),
        ("exclusiveMinimum", "above"),
        ("maximum", "at most"),
        ("exclusiveMaximum", "below"),
        ("multipleOf", "a multiple of"),
        ("minLength", "characters at least"),
        ("maxLength", "characters at most"),
        ("pattern", "matching"),
        ("format", "format"),
        ("minItems", "items at least"),
        ("maxItems", "items at most"),
        ("minProperties", "keys at least"),
        ("maxProperties", "keys at most"),
    ];
    let words = WORDS.iter().filter_map(|(keyword, words)| {
        let value = map.get(*keyword)?;
        Some(match value {
            Value::String(text) if *keyword != "const" => format!("{words} {text}"),
            Value::Array(values) => {
                format!("{words} {}", values.iter().map(Value::to_string).collect::<Vec<_>>().join(" "))
            }
            value => format!("{words} {value}"),
        })
    });
    words
        .chain((map.get("uniqueItems") == Some(&Value::Bool(true))).then(|| "no item twice".to_owned()))
        .collect()
}

//! `registry export`: one JSON Schema file a stream, for generators of other languages.

use serde_json::Value;

use crate::lock::Lock;

/// The draft that every schema is written in.
const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";

/// One file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Export {
    /// `<stream>.schema.json`.
    pub file: String,
    /// The schema, keys sorted, with a final line break.
    pub text: String,
}

/// The schemas of a lock's streams. Each names its draft, and a title where it has none: the stream.
#[must_use]
pub fn export(lock: &Lock) -> Vec<Export> {
    let files = lock.streams.iter().map(|(name, stream)| {
        let mut schema = match &stream.payload {
            Value::Object(map) => map.clone(),
            // `true` and `false` are schemas too, but not ones that can hold a word about themselves.
            Value::Bool(false) => {
                [("not".to_owned(), Value::Object(serde_json::Map::new()))].into_iter().collect()
            }
            _ => serde_json::Map::new(),
        };
        schema.entry("$schema").or_insert_with(|| Value::from(DRAFT));
        schema.entry("title").or_insert_with(|| Value::from(name.as_str()));
        Export { file: format!("{name}.schema.json"), text: format!("{:#}\n", Value::Object(schema)) }
    });
    files.collect()
}

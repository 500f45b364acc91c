//! The lock file `streams.lock.json`: one artefact that reviews, infrastructure and other
//! languages read.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::{Registry, Stream};

/// The lock's format version.
pub const LOCK_FORMAT: u32 = 1;

/// A registry, written down. Key order never matters; streams are sorted by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    /// The format version, [`LOCK_FORMAT`].
    pub format: u32,
    /// The streams by name.
    pub streams: BTreeMap<String, LockedStream>,
}

/// One stream in the lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockedStream {
    /// SHA-256, in hex, over the RFC 8785 form of `{identity, payload, revision}`.
    pub hash: String,
    /// Field to claim path.
    pub identity: BTreeMap<String, Vec<String>>,
    /// The input-side JSON Schema.
    pub payload: Value,
    /// The revision, where one is declared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<u32>,
}

impl Lock {
    /// The lock of a registry.
    #[must_use]
    pub fn of(registry: &Registry) -> Self {
        let streams = registry.streams().map(|stream| (stream.name().to_string(), LockedStream::of(stream)));
        Self { format: LOCK_FORMAT, streams: streams.collect() }
    }

    /// The file's text: keys sorted, two spaces, a final line break, so that a diff shows a change
    /// and nothing else.
    #[must_use]
    pub fn to_text(&self) -> String {
        // A map of strings and JSON values always serialises; `Value` sorts its keys.
        let value = serde_json::to_value(self).unwrap_or_default();
        format!("{value:#}\n")
    }
}

impl LockedStream {
    fn of(stream: &Stream) -> Self {
        let identity: BTreeMap<_, _> = stream
            .identity()
            .fields()
            .map(|(field, path)| (field.to_owned(), path.segments().to_vec()))
            .collect();
        let content = json!({
            "identity": identity,
            "payload": stream.schema(),
            "revision": stream.revision(),
        });
        Self { hash: hash(&content), identity, payload: stream.schema().clone(), revision: stream.revision() }
    }
}

fn hash(content: &Value) -> String {
    // Serialising a `Value` can't fail: its keys are strings and its numbers finite.
    let canonical = serde_json_canonicalizer::to_vec(content).unwrap_or_default();
    Sha256::digest(canonical).iter().map(|byte| format!("{byte:02x}")).collect()
}

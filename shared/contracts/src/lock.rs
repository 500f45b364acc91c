//! The lock file `streams.lock.json`: one artefact that reviews, infrastructure and other
//! languages read.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::{Registry, Stream};

/// The version of the lock's format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LockFormat(pub u32);

/// The format that this code writes, and the only one it reads.
pub const LOCK_FORMAT: LockFormat = LockFormat(1);

/// A registry, written down. Key order never matters; streams are sorted by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    /// The format version, [`LOCK_FORMAT`].
    pub format: LockFormat,
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

/// Why a text is not a lock.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LockError {
    /// The text is not JSON.
    #[error("is not JSON (line {line}, column {column})")]
    NotJson {
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
    },
    /// The text is JSON without a format version.
    #[error("is no lock of streams: it has no number under \"format\"")]
    NoFormat,
    /// Another version of this code wrote it.
    #[error("has format {found}, this eventlane reads format {LOCK_FORMAT}; use the eventlane that wrote it")]
    Format {
        /// The version in the file.
        found: u64,
    },
    /// The format is ours, the shape is not.
    #[error("is no lock of streams: {0}")]
    Shape(String),
    /// A stream's content is not what its hash says: edited or merged by hand.
    #[error("was changed by hand: the hash of {} does not fit its content; restore it, then run `eventlane registry lock`", .0.join(", "))]
    Hash(Vec<String>),
}

impl std::fmt::Display for LockFormat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl Lock {
    /// The lock of a registry.
    #[must_use]
    pub fn of(registry: &Registry) -> Self {
        let streams = registry.streams().map(|stream| (stream.name().to_string(), LockedStream::of(stream)));
        Self { format: LOCK_FORMAT, streams: streams.collect() }
    }

    /// Reads a lock file's text. The format is looked at before anything else, so that a newer file
    /// is told by its version and not by what it added.
    ///
    /// # Errors
    /// [`LockError`], in this order: not JSON, no format, another format, not the shape, a hash that
    /// doesn't fit.
    pub fn parse(text: &str) -> Result<Self, LockError> {
        let value: Value = serde_json::from_str(text)
            .map_err(|error| LockError::NotJson { line: error.line(), column: error.column() })?;
        match value.get("format").and_then(Value::as_u64) {
            None => return Err(LockError::NoFormat),
            Some(found) if found != u64::from(LOCK_FORMAT.0) => return Err(LockError::Format { found }),
            Some(_) => {}
        }
        let lock: Self =
            serde_json::from_value(value).map_err(|error| LockError::Shape(error.to_string()))?;
        let wrong = lock.streams.iter().filter(|(_, stream)| stream.hash != stream.content_hash());
        let wrong: Vec<String> = wrong.map(|(name, _)| name.clone()).collect();
        if wrong.is_empty() { Ok(lock) } else { Err(LockError::Hash(wrong)) }
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
    /// A stream from its parts, with its hash.
    #[must_use]
    pub fn new(payload: Value, identity: BTreeMap<String, Vec<String>>, revision: Option<u32>) -> Self {
        let mut stream = Self { hash: String::new(), identity, payload, revision };
        stream.hash = stream.content_hash();
        stream
    }

    fn of(stream: &Stream) -> Self {
        let fields = stream.identity().fields();
        let identity = fields.map(|(field, path)| (field.to_owned(), path.segments().to_vec())).collect();
        Self::new(stream.schema().clone(), identity, stream.revision())
    }

    fn content_hash(&self) -> String {
        hash(&json!({
            "identity": self.identity,
            "payload": self.payload,
            "revision": self.revision,
        }))
    }
}

fn hash(content: &Value) -> String {
    // Serialising a `Value` can't fail: its keys are strings and its numbers finite.
    let canonical = serde_json_canonicalizer::to_vec(content).unwrap_or_default();
    Sha256::digest(canonical).iter().map(|byte| format!("{byte:02x}")).collect()
}

//! One stream: a name, a payload contract, identity, an optional revision.

use std::fmt;

use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, value::RawValue};

use crate::contract::Contract;
use crate::identity::{ClaimPath, Identity};
use crate::limits::PAYLOAD_BYTES;
use crate::name::StreamName;
use crate::payload::{self, Checked, PayloadFault};
use crate::strict;

/// A stream of a [`Registry`](crate::Registry): it could be built, so it is sound.
pub struct Stream {
    pub(crate) name: StreamName,
    pub(crate) contract: Contract,
    pub(crate) identity: Identity,
    pub(crate) revision: Option<u32>,
}

impl Stream {
    /// A stream whose payload is a Rust type: deserialising is the authoritative parse, serialising
    /// the normalised output. The type runs on both sides, so it must be pure and deterministic.
    pub fn typed<T>(name: &str) -> StreamDefinition
    where
        T: DeserializeOwned + Serialize + schemars::JsonSchema,
    {
        StreamDefinition::new(name, Contract::typed::<T>())
    }

    /// A stream whose payload is held to a JSON Schema, draft 2020-12, formats asserted. The
    /// consumer receives the sender's own text, compacted.
    #[must_use]
    pub fn json_schema(name: &str, schema: Value) -> StreamDefinition {
        StreamDefinition::new(name, Contract::json_schema(schema))
    }

    /// The stream's name.
    #[must_use]
    pub fn name(&self) -> &StreamName {
        &self.name
    }

    /// The identity an event of this stream is stamped with.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The acceptance logic's revision, for changes that the schema can't show.
    #[must_use]
    pub fn revision(&self) -> Option<u32> {
        self.revision
    }

    /// The JSON Schema of what the stream takes (the input side).
    #[must_use]
    pub fn schema(&self) -> &Value {
        &self.contract.schema
    }

    /// Whether a Rust type decides, not the schema.
    #[must_use]
    pub fn is_typed(&self) -> bool {
        self.contract.is_typed()
    }

    /// Checks a payload given as JSON text, as `append` does.
    ///
    /// # Errors
    /// [`PayloadFault`], in this order: not JSON, nesting, duplicate keys and unreadable texts, the
    /// contract, output that JSON can't carry, size.
    pub fn check<'a>(&self, text: &'a str) -> Result<Checked<'a>, PayloadFault> {
        self.check_raw(payload::raw(text)?)
    }

    /// Checks a payload whose syntax is known to be right, as ingest does.
    ///
    /// # Errors
    /// As [`check`](Self::check), without `NotJson`.
    pub fn check_raw<'a>(&self, raw: &'a RawValue) -> Result<Checked<'a>, PayloadFault> {
        let stored = payload::compact(raw)?;
        let output = self.contract.output(&stored)?;
        let actual = stored.len().max(output.len());
        if actual > PAYLOAD_BYTES {
            return Err(PayloadFault::TooLarge { actual });
        }
        Ok(Checked { stored, output })
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A stream as it was declared, not yet judged. [`Registry::define`](crate::Registry::define)
/// judges all of them at once.
pub struct StreamDefinition {
    name: String,
    contract: Result<Contract, String>,
    identity: Vec<(String, ClaimPath)>,
    revision: Option<u32>,
}

impl StreamDefinition {
    fn new(name: &str, contract: Result<Contract, String>) -> Self {
        Self { name: name.to_owned(), contract, identity: Vec::new(), revision: None }
    }

    /// Stamps `field` from the verified claim at `path`, outermost segment first.
    #[must_use]
    pub fn identity<S: Into<String>>(mut self, field: &str, path: impl IntoIterator<Item = S>) -> Self {
        self.identity.push((field.to_owned(), ClaimPath::new(path)));
        self
    }

    /// Bump this (from 1) whenever acceptance changes in a way that the schema can't show.
    #[must_use]
    pub fn revision(mut self, revision: u32) -> Self {
        self.revision = Some(revision);
        self
    }

    /// The sound stream, or every fault of this definition.
    pub(crate) fn judge(self) -> Result<Stream, Vec<String>> {
        let mut faults = Vec::new();
        let label = crate::text::cut(&self.name, 64).to_owned();
        let name = StreamName::new(&self.name).map_err(|error| faults.push(error.to_string())).ok();
        let contract = match self.contract {
            Ok(contract) => {
                let found = strict::faults(&contract.schema, contract.is_typed());
                faults.extend(found.into_iter().map(|fault| format!("stream {label}: {fault}")));
                Some(contract)
            }
            Err(fault) => {
                faults.push(format!("stream {label}: {fault}"));
                None
            }
        };
        let mut identity = Identity::default();
        for (field, path) in self.identity {
            if field.trim().is_empty() {
                faults.push(format!("stream {label}: an identity field has no name"));
            } else if path.segments().is_empty() || path.segments().iter().any(|s| s.trim().is_empty()) {
                faults.push(format!("stream {label}: identity {field} has an empty claim path segment"));
            } else if identity.0.insert(field.clone(), path).is_some() {
                faults.push(format!("stream {label}: identity {field} is declared twice"));
            }
        }
        if self.revision == Some(0) {
            faults.push(format!("stream {label}: revision must be 1 or more"));
        }
        match (name, contract) {
            (Some(name), Some(contract)) if faults.is_empty() => {
                Ok(Stream { name, contract, identity, revision: self.revision })
            }
            _ => Err(faults),
        }
    }
}

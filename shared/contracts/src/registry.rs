//! All streams of a lane, judged together.

use std::collections::BTreeMap;

use crate::stream::{Stream, StreamDefinition};

/// The streams a lane knows, by name. Declarative data only: no gate, no cadence.
#[derive(Debug, Default)]
pub struct Registry {
    streams: BTreeMap<String, Stream>,
}

/// Every offender of a registry's definition, one a line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the registry of streams is not sound:\n- {}", .0.join("\n- "))]
pub struct RegistryError(Vec<String>);

impl RegistryError {
    /// The offenders, each one line.
    #[must_use]
    pub fn offenders(&self) -> &[String] {
        &self.0
    }
}

impl Registry {
    /// Judges all definitions. None at all is a legal registry: then the route doesn't exist and
    /// `append` says so.
    ///
    /// # Errors
    /// [`RegistryError`] with every offender: bad or repeated names, schemas that don't compile or
    /// would drop keys, identity without a path, revision 0.
    pub fn define(definitions: impl IntoIterator<Item = StreamDefinition>) -> Result<Self, RegistryError> {
        let mut faults = Vec::new();
        let mut streams = BTreeMap::new();
        for definition in definitions {
            match definition.judge() {
                Ok(stream) => {
                    let name = stream.name().to_string();
                    if streams.insert(name.clone(), stream).is_some() {
                        faults.push(format!("stream {name}: defined twice"));
                    }
                }
                Err(found) => faults.extend(found),
            }
        }
        if faults.is_empty() { Ok(Self { streams }) } else { Err(RegistryError(faults)) }
    }

    /// The stream of that name.
    #[must_use]
    pub fn stream(&self, name: &str) -> Option<&Stream> {
        self.streams.get(name)
    }

    /// All streams, in the order of their names.
    pub fn streams(&self) -> impl ExactSizeIterator<Item = &Stream> {
        self.streams.values()
    }

    /// Whether no stream is registered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.streams.is_empty()
    }
}

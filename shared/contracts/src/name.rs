//! The name of a stream, which is also the tail of its queue's name.

use std::fmt;

use crate::limits::STREAM_NAME_CHARS;

/// A stream's name: `^[a-z][a-z0-9_]*$`, at most 30 characters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(transparent)]
pub struct StreamName(String);

/// Why a text is not a stream's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "stream name {0:?} must match ^[a-z][a-z0-9_]*$ and have at most {STREAM_NAME_CHARS} characters, \
     because its queue is named after it"
)]
pub struct NameError(String);

impl StreamName {
    /// Takes `name` when it is one.
    ///
    /// # Errors
    /// [`NameError`] when it doesn't match or is too long.
    pub fn new(name: &str) -> Result<Self, NameError> {
        let mut bytes = name.bytes();
        let fits = name.len() <= STREAM_NAME_CHARS
            && bytes.next().is_some_and(|b| b.is_ascii_lowercase())
            && bytes.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
        if fits { Ok(Self(name.to_owned())) } else { Err(NameError(crate::text::cut(name, 64).to_owned())) }
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for StreamName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::borrow::Borrow<str> for StreamName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::StreamName;

    #[test]
    fn names_are_held_to_the_pattern_and_the_length() {
        for good in ["a", "issue_viewed", "a1_", &"a".repeat(30)] {
            assert!(StreamName::new(good).is_ok(), "{good}");
        }
        for bad in ["", "A", "1a", "_a", "a-b", "a b", "é", &"a".repeat(31)] {
            assert!(StreamName::new(bad).is_err(), "{bad}");
        }
    }
}

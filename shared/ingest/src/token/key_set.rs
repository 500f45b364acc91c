//! Keys, and which of them a token may have been signed by.

use super::error::TokenError;
use super::key::Key;
use super::parts::Parts;

/// The keys of the settings, or those of one JWKS.
#[derive(Default)]
pub(crate) struct KeySet(pub(crate) Vec<Key>);

impl KeySet {
    /// Whether a key of this set signed the token.
    ///
    /// # Errors
    /// - [`TokenError::Algorithm`] when the key that the token names is for another algorithm.
    /// - [`TokenError::UnknownKey`] when no key here is the one.
    /// - [`TokenError::Signature`] when the one is here and didn't sign it.
    pub(crate) fn verify(&self, parts: &Parts<'_>) -> Result<(), TokenError> {
        let fitting = self.fitting(parts)?;
        if fitting.is_empty() {
            return Err(TokenError::UnknownKey);
        }
        if fitting.iter().any(|key| key.signed(parts)) { Ok(()) } else { Err(TokenError::Signature) }
    }

    /// Whether a key of this set has this `kid`.
    pub(crate) fn names(&self, kid: Option<&str>) -> bool {
        kid.is_some_and(|kid| self.0.iter().any(|key| key.kid.as_deref() == Some(kid)))
    }

    /// The keys a token may mean. A `kid` means the keys of that name, two of one name if an issuer
    /// is so careless; failing these, keys that have no name. Without a `kid` only a single key can
    /// be meant.
    fn fitting(&self, parts: &Parts<'_>) -> Result<Vec<&Key>, TokenError> {
        let of_algorithm = |key: &&Key| key.algorithm == parts.algorithm;
        let Some(kid) = &parts.kid else {
            let fitting: Vec<&Key> = self.0.iter().filter(of_algorithm).collect();
            return Ok(if fitting.len() == 1 { fitting } else { Vec::new() });
        };
        let named: Vec<&Key> = self.0.iter().filter(|key| key.kid.as_ref() == Some(kid)).collect();
        if named.is_empty() {
            return Ok(self.0.iter().filter(|key| key.kid.is_none()).filter(of_algorithm).collect());
        }
        let fitting: Vec<&Key> = named.into_iter().filter(of_algorithm).collect();
        if fitting.is_empty() { Err(TokenError::Algorithm) } else { Ok(fitting) }
    }
}

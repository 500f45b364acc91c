//! Whether a token proves what it claims.

use std::sync::Arc;

use eventlane_contracts::Clock;

use super::claims::{Claims, Expected};
use super::error::TokenError;
use super::key::Algorithm;
use super::key_set::KeySet;
use super::parts::Parts;
use super::source::KeySource;

/// Verifies tokens. Secrets don't print.
pub struct TokenVerifier {
    pub(crate) own: KeySet,
    pub(crate) source: Option<Arc<KeySource>>,
    pub(crate) expected: Expected,
    pub(crate) allow_anonymous: bool,
    pub(crate) clock: Arc<dyn Clock>,
}

impl TokenVerifier {
    /// The claims of a token that one of the keys signed and whose claims hold now. Keys are fetched
    /// in here, when they have to be.
    ///
    /// # Errors
    /// [`TokenError`], any but `Missing`.
    ///
    /// # Cancel safety
    /// Cancel safe: a fetch goes on for those who still wait for it.
    pub async fn verify(&self, token: &str) -> Result<Claims, TokenError> {
        let parts = Parts::read(token)?;
        self.verify_signature(&parts).await?;
        self.expected.judge(parts.claims()?, self.clock.now_us())
    }

    /// Loads the keys ahead of the first token. Where that fails it is logged, and tried again with
    /// a token.
    pub async fn load_keys(&self) {
        if let Some(source) = &self.source {
            // Whoever needs the keys is told that there are none.
            let _ = source.keys().await;
        }
    }

    /// Whether a request without any token is let in.
    pub(crate) fn allows_anonymous(&self) -> bool {
        self.allow_anonymous
    }

    async fn verify_signature(&self, parts: &Parts<'_>) -> Result<(), TokenError> {
        let trouble = match self.own.verify(parts) {
            Ok(()) => return Ok(()),
            Err(trouble) => trouble,
        };
        // No shared secret comes out of a JWKS: a token that wants one is not worth a fetch.
        let source = match &self.source {
            Some(source) if parts.algorithm != Algorithm::Hs256 => source,
            _ => return Err(trouble),
        };
        let set = source.keys().await?;
        let trouble = match set.verify(parts) {
            Ok(()) => return Ok(()),
            Err(trouble) => trouble,
        };
        // A key without a name can be rotated without anybody noticing but by this.
        let may_be_rotated = match trouble {
            TokenError::UnknownKey => true,
            TokenError::Signature => !set.names(parts.kid.as_deref()),
            _ => false,
        };
        match may_be_rotated {
            true => source.newer_than(&set).await.map_or(Err(trouble), |newer| newer.verify(parts)),
            false => Err(trouble),
        }
    }
}

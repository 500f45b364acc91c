//! A key, and the one algorithm it is for.
//!
//! The key decides the algorithm: a token only says which key it wants, so a public key can never be
//! taken for a shared secret.

use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED, ED25519, ParsedPublicKey, VerificationAlgorithm};
use jsonwebtoken::crypto::verify;
use jsonwebtoken::{DecodingKey, DecodingKeyKind};

use super::limits::{RSA_BITS, RSA_BITS_MAX, SECRET_BYTES};
use super::modulus;
use super::parts::Parts;

/// What keys are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Algorithm {
    Hs256,
    Rs256,
    Es256,
    EdDsa,
}

impl Algorithm {
    /// By its registered name, letter by letter. `Ed25519` is what RFC 9864 calls the one curve of
    /// `EdDSA` that is taken here.
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "HS256" => Some(Self::Hs256),
            "RS256" => Some(Self::Rs256),
            "ES256" => Some(Self::Es256),
            "EdDSA" | "Ed25519" => Some(Self::EdDsa),
            _ => None,
        }
    }

    fn in_library(self) -> jsonwebtoken::Algorithm {
        match self {
            Self::Hs256 => jsonwebtoken::Algorithm::HS256,
            Self::Rs256 => jsonwebtoken::Algorithm::RS256,
            Self::Es256 => jsonwebtoken::Algorithm::ES256,
            Self::EdDsa => jsonwebtoken::Algorithm::EdDSA,
        }
    }
}

/// A sound key. Secrets don't print: there is no `Debug`.
pub(crate) struct Key {
    pub(crate) algorithm: Algorithm,
    /// Its name in a JWKS; keys of the settings have none.
    pub(crate) kid: Option<String>,
    key: DecodingKey,
}

impl Key {
    /// An HS256 secret.
    pub(crate) fn secret(secret: &[u8]) -> Result<Self, String> {
        if secret.len() < SECRET_BYTES {
            return Err(format!("has {} bytes, it needs at least {SECRET_BYTES}", secret.len()));
        }
        let key = DecodingKey::from_secret(secret).map_err(|_| "can't be used".to_owned())?;
        Ok(Self { algorithm: Algorithm::Hs256, kid: None, key })
    }

    /// A public key in PEM.
    pub(crate) fn pem(algorithm: Algorithm, pem: &str) -> Result<Self, String> {
        let (read, kind): (fn(&[u8]) -> _, _) = match algorithm {
            Algorithm::Rs256 => (DecodingKey::from_rsa_pem, "an RSA"),
            Algorithm::Es256 => (DecodingKey::from_ec_pem, "a P-256"),
            Algorithm::EdDsa => (DecodingKey::from_ed_pem, "an Ed25519"),
            Algorithm::Hs256 => return Err("is for a shared secret, which has no PEM".to_owned()),
        };
        let unreadable = || format!("is no PEM of {kind} public key (-----BEGIN PUBLIC KEY-----)");
        let key = read(pem.trim().as_bytes()).map_err(|_| unreadable())?;
        // A private key is read as a key of no modulus.
        if algorithm == Algorithm::Rs256 && modulus::of(key.kind()).is_none() {
            return Err(unreadable());
        }
        Self::public(algorithm, None, key)
    }

    /// A public key that is as strong as its algorithm asks.
    pub(crate) fn public(
        algorithm: Algorithm,
        kid: Option<String>,
        key: DecodingKey,
    ) -> Result<Self, String> {
        match algorithm {
            Algorithm::Hs256 => return Err("is a shared secret".to_owned()),
            Algorithm::Rs256 => judge_rsa(key.kind())?,
            Algorithm::Es256 if !is_point(&key, &ECDSA_P256_SHA256_FIXED) => {
                return Err("is no point on P-256".to_owned());
            }
            Algorithm::EdDsa if !is_point(&key, &ED25519) => return Err("is no Ed25519 key".to_owned()),
            Algorithm::Es256 | Algorithm::EdDsa => {}
        }
        Ok(Self { algorithm, kid, key })
    }

    /// Whether this key signed the token, which names the key's own algorithm.
    pub(crate) fn signed(&self, parts: &Parts<'_>) -> bool {
        // Only the signature is left to the library: its reading of claims refuses a token for an odd
        // claim that nobody asked about.
        parts.algorithm == self.algorithm
            && verify(parts.signature, parts.message.as_bytes(), &self.key, self.algorithm.in_library())
                .unwrap_or(false)
    }
}

/// Size and exponent: with an exponent of 1 anybody signs.
fn judge_rsa(kind: &DecodingKeyKind) -> Result<(), String> {
    let (bits, exponent) = modulus::of(kind).ok_or_else(|| "is no RSA public key".to_owned())?;
    if !(RSA_BITS..=RSA_BITS_MAX).contains(&bits) {
        return Err(format!("has {bits} bits, it needs {RSA_BITS} to {RSA_BITS_MAX}"));
    }
    if !exponent.is_some_and(|exponent| exponent >= 3 && exponent % 2 == 1) {
        return Err("has an exponent that is no odd number from 3 to 2^32".to_owned());
    }
    Ok(())
}

fn is_point(key: &DecodingKey, algorithm: &'static dyn VerificationAlgorithm) -> bool {
    key.try_get_as_bytes().is_ok_and(|bytes| ParsedPublicKey::new(algorithm, bytes).is_ok())
}

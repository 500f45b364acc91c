//! Tokens: which keys are trusted, and whether a token is signed by one of them.
//!
//! The key decides the algorithm: a token's header only chooses among the keys there are, so a
//! public key can never be taken for a shared secret.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use eventlane_contracts::Clock;
use jsonwebtoken::crypto::verify;
use jsonwebtoken::{Algorithm, DecodingKey, DecodingKeyKind, decode_header};
use serde_json::{Map, Value};

use crate::Claims;
use crate::claims::Expected;

/// Seconds by which `exp` and `nbf` may be off unless settings say otherwise: clocks of healthy
/// machines differ by less.
pub const LEEWAY_SECONDS: u32 = 30;

/// Longest token looked at, in bytes: gateways take headers of 8 to 10 KB in all.
const TOKEN_BYTES: usize = 16_384;

/// Least bytes of an HS256 secret: as many as the hash has (RFC 7518, 3.2).
const SECRET_BYTES: usize = 32;

/// Least bits of an RSA modulus (RFC 7518, 3.3).
const RSA_BITS: usize = 2048;

/// Why a token proves nothing. Names the kind of trouble, never anything of the token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// No `Authorization: Bearer` header, or more than one.
    #[error("send one header Authorization: Bearer TOKEN")]
    Missing,
    /// Not a token, or of an algorithm that no key here has.
    #[error("not a token that any key here could have signed")]
    Malformed,
    /// The signature doesn't fit.
    #[error("the signature doesn't fit")]
    Signature,
    /// `exp` is past.
    #[error("the token has expired")]
    Expired,
    /// `nbf` is ahead.
    #[error("the token is not valid yet")]
    NotYetValid,
    /// A claim is missing, of the wrong type, or not what is expected.
    #[error("claim {0} is missing or not what is expected")]
    Claims(&'static str),
}

impl TokenError {
    /// A stable word for metrics and logs.
    #[must_use]
    pub fn tag(&self) -> &'static str {
        match self {
            Self::Missing => "token_missing",
            Self::Malformed => "token_malformed",
            Self::Signature => "token_signature",
            Self::Expired => "token_expired",
            Self::NotYetValid => "token_not_yet_valid",
            Self::Claims(_) => "token_claims",
        }
    }
}

/// Every offender of the token settings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the token settings are not sound:\n- {}", .0.join("\n- "))]
pub struct TokenSettingsError(Vec<String>);

/// How tokens are verified. At least one key is needed.
#[derive(Clone, Default)]
pub struct TokenSettings {
    /// Shared secret of HS256 tokens, at least 32 bytes.
    pub hs256_secret: Option<String>,
    /// Public key of RS256 tokens, PEM, at least 2048 bits.
    pub rs256_public_key: Option<String>,
    /// The `iss` that tokens must carry, where set.
    pub issuer: Option<String>,
    /// The `aud` that tokens must carry or contain, where set.
    pub audience: Option<String>,
    /// Seconds by which times may be off; [`LEEWAY_SECONDS`] where not set, 300 at most.
    pub leeway_seconds: Option<u32>,
}

impl TokenSettings {
    /// Judges the settings and builds the verifier.
    ///
    /// # Errors
    /// [`TokenSettingsError`] with every offender: no key, a small or unreadable one, a leeway
    /// above 300 s.
    pub fn verifier(self, clock: Arc<dyn Clock>) -> Result<TokenVerifier, TokenSettingsError> {
        let mut faults = Vec::new();
        let mut keys = Vec::new();
        if let Some(secret) = &self.hs256_secret {
            match hs256(secret) {
                Ok(key) => keys.push((Algorithm::HS256, key)),
                Err(fault) => faults.push(fault),
            }
        }
        if let Some(pem) = &self.rs256_public_key {
            match rs256(pem) {
                Ok(key) => keys.push((Algorithm::RS256, key)),
                Err(fault) => faults.push(fault),
            }
        }
        if self.hs256_secret.is_none() && self.rs256_public_key.is_none() {
            faults.push("no key: set an HS256 secret or an RS256 public key".to_owned());
        }
        let leeway_seconds = self.leeway_seconds.unwrap_or(LEEWAY_SECONDS);
        if leeway_seconds > 300 {
            faults.push(format!("leeway is {leeway_seconds} s, it must be 0 to 300 s"));
        }
        for (name, value) in [("issuer", &self.issuer), ("audience", &self.audience)] {
            if value.as_ref().is_some_and(|value| value.trim().is_empty()) {
                faults.push(format!("{name} is set and empty"));
            }
        }
        if !faults.is_empty() {
            return Err(TokenSettingsError(faults));
        }
        let expected = Expected { issuer: self.issuer, audience: self.audience, leeway_seconds };
        Ok(TokenVerifier { keys, expected, clock })
    }
}

fn hs256(secret: &str) -> Result<DecodingKey, String> {
    if secret.len() < SECRET_BYTES {
        return Err(format!("the HS256 secret has {} bytes, it needs at least {SECRET_BYTES}", secret.len()));
    }
    DecodingKey::from_secret(secret.as_bytes()).map_err(|_| "the HS256 secret can't be used".to_owned())
}

fn rs256(pem: &str) -> Result<DecodingKey, String> {
    let key = DecodingKey::from_rsa_pem(pem.as_bytes())
        .map_err(|_| "the RS256 public key is no PEM of an RSA public key".to_owned())?;
    // A private key is read as a key of no modulus.
    let Some(bits) = modulus_bits(key.kind()) else {
        return Err("the RS256 public key is no PEM of an RSA public key".to_owned());
    };
    if bits < RSA_BITS {
        return Err(format!("the RS256 public key has {bits} bits, it needs at least {RSA_BITS}"));
    }
    Ok(key)
}

/// The modulus' length, from the components or from a DER `RSAPublicKey`: SEQUENCE { INTEGER n, … }.
fn modulus_bits(kind: &DecodingKeyKind) -> Option<usize> {
    let modulus = match kind {
        DecodingKeyKind::RsaModulusExponent { n, .. } => n.as_slice(),
        DecodingKeyKind::SecretOrDer(der) => der_value(0x02, der_value(0x30, der)?)?,
    };
    let significant = modulus.iter().skip_while(|byte| **byte == 0).collect::<Vec<_>>();
    let first = significant.first()?;
    Some(significant.len() * 8 - first.leading_zeros() as usize)
}

/// The value of the DER element at the start of `bytes`, when it has this tag.
fn der_value(tag: u8, bytes: &[u8]) -> Option<&[u8]> {
    let (&found, rest) = bytes.split_first()?;
    let (&length, rest) = rest.split_first()?;
    if found != tag {
        return None;
    }
    if length < 0x80 {
        return rest.get(..usize::from(length));
    }
    let count = usize::from(length & 0x7f);
    let length = rest
        .get(..count)?
        .iter()
        .try_fold(0usize, |sum, byte| sum.checked_mul(256)?.checked_add(usize::from(*byte)))?;
    rest.get(count..count.checked_add(length)?)
}

/// Verifies tokens. Secrets don't print.
pub struct TokenVerifier {
    keys: Vec<(Algorithm, DecodingKey)>,
    expected: Expected,
    clock: Arc<dyn Clock>,
}

impl TokenVerifier {
    /// The claims of a token that one of the keys signed and whose claims hold now.
    ///
    /// # Errors
    /// [`TokenError`], any but `Missing`.
    pub fn verify(&self, token: &str) -> Result<Claims, TokenError> {
        if token.len() > TOKEN_BYTES {
            return Err(TokenError::Malformed);
        }
        let header = decode_header(token).map_err(|_| TokenError::Malformed)?;
        let (message, signature) = token.rsplit_once('.').ok_or(TokenError::Malformed)?;
        let mut trouble = TokenError::Malformed;
        for (algorithm, key) in self.keys.iter().filter(|(algorithm, _)| *algorithm == header.alg) {
            // Only the signature is left to the library: its reading of claims refuses a token for
            // an odd claim that nobody asked about.
            match verify(signature, message.as_bytes(), key, *algorithm) {
                Ok(true) => return self.expected.judge(claims(message)?, self.clock.now_us()),
                Ok(false) | Err(_) => trouble = TokenError::Signature,
            }
        }
        Err(trouble)
    }
}

/// The claims of a token whose signature fits.
fn claims(message: &str) -> Result<Map<String, Value>, TokenError> {
    let (_, encoded) = message.split_once('.').ok_or(TokenError::Malformed)?;
    let text = URL_SAFE_NO_PAD.decode(encoded).map_err(|_| TokenError::Malformed)?;
    serde_json::from_slice(&text).map_err(|_| TokenError::Malformed)
}

#[cfg(test)]
mod tests {
    use eventlane_testkit::{ManualClock, tokens};
    use serde_json::json;

    use super::*;

    fn clock() -> Arc<ManualClock> {
        Arc::new(ManualClock::new(1_764_518_400_000_000))
    }

    fn both() -> TokenVerifier {
        let settings = TokenSettings {
            hs256_secret: Some(tokens::HS256_SECRET.into()),
            rs256_public_key: Some(tokens::RSA_PUBLIC_PEM.into()),
            ..TokenSettings::default()
        };
        settings.verifier(clock()).unwrap()
    }

    #[test]
    fn both_kinds_of_keys_verify_their_own_tokens() {
        let claims = tokens::claims("u1");
        for token in [tokens::hs256(&claims), tokens::rs256(&claims)] {
            assert_eq!(both().verify(&token).unwrap().as_map()["sub"], "u1");
        }
    }

    #[test]
    fn the_key_decides_the_algorithm() {
        let claims = tokens::claims("u1");
        // Signed with the public key's text as if it were a shared secret.
        let confused = tokens::hs256_with(tokens::RSA_PUBLIC_PEM.as_bytes(), &claims);
        assert_eq!(both().verify(&confused).unwrap_err(), TokenError::Signature);
        let only_rsa = TokenSettings {
            rs256_public_key: Some(tokens::RSA_PUBLIC_PEM.into()),
            ..TokenSettings::default()
        };
        assert_eq!(only_rsa.verifier(clock()).unwrap().verify(&confused).unwrap_err(), TokenError::Malformed);
        for header in ["eyJhbGciOiJub25lIn0", "eyJhbGciOiJuT25FIn0", "e30", ""] {
            let unsigned = format!("{header}.eyJzdWIiOiJ1MSIsImV4cCI6NDEwMjQ0NDgwMH0.");
            assert_eq!(both().verify(&unsigned).unwrap_err(), TokenError::Malformed, "{header}");
        }
    }

    #[test]
    fn a_token_expires_by_the_clock_that_was_given() {
        let clock = clock();
        let settings =
            TokenSettings { hs256_secret: Some(tokens::HS256_SECRET.into()), ..Default::default() };
        let verifier = settings.verifier(Arc::clone(&clock) as Arc<dyn Clock>).unwrap();
        let token = tokens::hs256(&json!({"exp": 1_764_518_460}));
        assert!(verifier.verify(&token).is_ok());
        clock.advance(std::time::Duration::from_secs(120));
        assert_eq!(verifier.verify(&token).unwrap_err(), TokenError::Expired);
    }

    #[test]
    fn weak_keys_and_nonsense_are_refused_together() {
        let small = include_str!("tests/rsa_1024_public.pem");
        let settings = TokenSettings {
            hs256_secret: Some("abc".into()),
            rs256_public_key: Some(small.into()),
            issuer: Some(" ".into()),
            leeway_seconds: Some(301),
            ..TokenSettings::default()
        };
        let text = settings.verifier(clock()).err().unwrap().to_string();
        for part in ["3 bytes", "1024 bits", "issuer", "301 s"] {
            assert!(text.contains(part), "{part} is missing in {text}");
        }
        assert!(!text.contains("abc"));
        let none = TokenSettings::default().verifier(clock()).err().unwrap().to_string();
        assert!(none.contains("no key"), "{none}");
    }

    #[test]
    fn the_modulus_is_measured() {
        let key = DecodingKey::from_rsa_pem(tokens::RSA_PUBLIC_PEM.as_bytes()).unwrap();
        assert_eq!(modulus_bits(key.kind()), Some(2048));
        let short = DecodingKeyKind::RsaModulusExponent { n: vec![0, 0x7f, 1], e: vec![3] };
        assert_eq!(modulus_bits(&short), Some(15));
        assert_eq!(modulus_bits(&DecodingKeyKind::SecretOrDer(vec![0x30, 0x82])), None);
    }

    #[test]
    fn an_odd_claim_that_nobody_asked_about_spoils_no_token() {
        for sub in [json!([1]), json!({"a": 1}), json!({}), json!(null), json!(7)] {
            let token = tokens::hs256(&json!({"sub": sub, "exp": tokens::FAR_EXPIRY}));
            assert_eq!(both().verify(&token).unwrap().as_map()["sub"], sub);
        }
        let token = tokens::hs256(&json!({"exp": [1]}));
        assert_eq!(both().verify(&token).unwrap_err(), TokenError::Claims("exp"));
    }

    #[test]
    fn a_huge_token_is_not_even_decoded() {
        let padded = |bytes: usize| {
            tokens::hs256(&json!({"sub": "u1", "exp": tokens::FAR_EXPIRY, "pad": "x".repeat(bytes)}))
        };
        assert!(both().verify(&padded(TOKEN_BYTES / 2)).is_ok());
        let huge = padded(TOKEN_BYTES);
        assert_eq!(both().verify(&huge).unwrap_err(), TokenError::Malformed);
    }
}

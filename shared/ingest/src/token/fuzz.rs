//! What the fuzz targets call: every parser that reads a stranger's token, or a key source's answer.

use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::claims::{AudienceClaim, Expected};
use super::jwks::Jwks;
use super::key::Key;
use super::key_set::KeySet;
use super::parts::Parts;

static KEYS: LazyLock<KeySet> = LazyLock::new(|| KeySet(Key::secret(&[7; 32]).into_iter().collect()));

/// Reads bytes as a token, as a token's header, as its claims, and as a JWKS.
///
/// # Panics
/// When bytes are taken for a signed token: nobody who calls this knows the key.
pub fn token(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let part = URL_SAFE_NO_PAD.encode(bytes);
    for token in [&*text, &format!("{part}.e30.c2ln"), &format!("eyJhbGciOiJIUzI1NiJ9.{part}.c2ln")] {
        if let Ok(parts) = Parts::read(token) {
            assert!(KEYS.verify(&parts).is_err(), "a token that nobody signed is taken");
            if let Ok(claims) = parts.claims() {
                let expected = Expected {
                    issuer: Some("us".to_owned()),
                    audiences: vec!["lane".to_owned()],
                    audience_claim: AudienceClaim::Aud,
                    token_use: Some("access".to_owned()),
                    leeway_seconds: 30,
                };
                let _ = expected.judge(claims, 1_760_000_000_000_000);
            }
        }
    }
    let _ = Jwks::read(bytes);
}

//! Tokens a test signs itself.
//!
//! The keys stand in this repository for everyone to read: they guard nothing.

use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::{Value, json};

/// The secret of [`hs256`].
pub const HS256_SECRET: &str = "a secret for tests, known to everyone who reads this";

/// The public half of the key of [`rs256`], PEM, 2048 bits.
pub const RSA_PUBLIC_PEM: &str = include_str!("../keys/rsa_public.pem");

/// The private half of the key of [`rs256`], PEM, 2048 bits.
pub const RSA_PRIVATE_PEM: &str = include_str!("../keys/rsa_private.pem");

/// The expiry of [`claims`] in unix seconds: the year 2100.
pub const FAR_EXPIRY: i64 = 4_102_444_800;

/// Claims of a subject that stay valid: `{"sub", "exp"}`.
#[must_use]
pub fn claims(sub: &str) -> Value {
    json!({"sub": sub, "exp": FAR_EXPIRY})
}

/// These claims, signed with [`HS256_SECRET`].
#[must_use]
pub fn hs256(claims: &Value) -> String {
    hs256_with(HS256_SECRET.as_bytes(), claims)
}

/// These claims, signed with a secret of one's own.
///
/// # Panics
/// When the secret is empty.
#[must_use]
pub fn hs256_with(secret: &[u8], claims: &Value) -> String {
    let key = EncodingKey::from_secret(secret).expect("a secret that is not empty");
    sign(&Header::new(Algorithm::HS256), claims, &key)
}

/// These claims, signed with the test's RSA key, without a `kid`.
#[must_use]
pub fn rs256(claims: &Value) -> String {
    sign(&Header::new(Algorithm::RS256), claims, &rsa_key())
}

/// These claims, signed with the test's RSA key under a `kid`.
#[must_use]
pub fn rs256_with_kid(kid: &str, claims: &Value) -> String {
    let header = Header { kid: Some(kid.to_owned()), ..Header::new(Algorithm::RS256) };
    sign(&header, claims, &rsa_key())
}

/// These claims under a header and a key of one's own.
///
/// # Panics
/// When the key doesn't fit the header's algorithm.
#[must_use]
pub fn sign(header: &Header, claims: &Value, key: &EncodingKey) -> String {
    jsonwebtoken::encode(header, claims, key).expect("a key that fits the algorithm")
}

fn rsa_key() -> EncodingKey {
    EncodingKey::from_rsa_pem(RSA_PRIVATE_PEM.as_bytes()).expect("the key in this crate is sound")
}

#[cfg(test)]
mod tests {
    use jsonwebtoken::{DecodingKey, Validation, decode};

    use super::*;

    fn subject(token: &str, algorithm: Algorithm, key: &DecodingKey) -> String {
        let decoded = decode::<Value>(token, key, &Validation::new(algorithm)).unwrap();
        decoded.claims["sub"].as_str().unwrap().to_owned()
    }

    #[test]
    fn both_kinds_verify_with_their_public_side() {
        let claims = claims("someone");
        let secret = DecodingKey::from_secret(HS256_SECRET.as_bytes()).unwrap();
        assert_eq!(subject(&hs256(&claims), Algorithm::HS256, &secret), "someone");
        let public = DecodingKey::from_rsa_pem(RSA_PUBLIC_PEM.as_bytes()).unwrap();
        assert_eq!(subject(&rs256(&claims), Algorithm::RS256, &public), "someone");
        let header = jsonwebtoken::decode_header(rs256_with_kid("k1", &claims)).unwrap();
        assert_eq!(header.kid.as_deref(), Some("k1"));
    }
}

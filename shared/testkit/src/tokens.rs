//! Tokens a test signs itself.
//!
//! The keys stand in this repository for everyone to read: they guard nothing.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey};
use serde_json::{Value, json};

/// The secret of [`hs256`].
pub const HS256_SECRET: &str = "a secret for tests, known to everyone who reads this";

/// The public half of the key of [`rs256`], PEM, 2048 bits.
pub const RSA_PUBLIC_PEM: &str = include_str!("../keys/rsa_public.pem");

/// The private half of the key of [`rs256`], PEM, 2048 bits.
pub const RSA_PRIVATE_PEM: &str = include_str!("../keys/rsa_private.pem");

/// The public half of the key of [`Signer::es256`], PEM, P-256.
pub const EC_PUBLIC_PEM: &str = include_str!("../keys/ec_public.pem");

/// The public half of the key of [`Signer::eddsa`], PEM, Ed25519.
pub const ED_PUBLIC_PEM: &str = include_str!("../keys/ed_public.pem");

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
    Signer::secret(secret).sign(claims)
}

/// These claims, signed with the test's RSA key, without a `kid`.
#[must_use]
pub fn rs256(claims: &Value) -> String {
    Signer::rs256().sign(claims)
}

/// A private key, or the shared secret, and the name it signs under.
#[derive(Clone)]
pub struct Signer {
    algorithm: Algorithm,
    kid: Option<String>,
    key: EncodingKey,
}

impl Signer {
    /// Signs with [`HS256_SECRET`].
    #[must_use]
    pub fn hs256() -> Self {
        Self::secret(HS256_SECRET.as_bytes())
    }

    /// Signs as HS256 with a secret of one's own.
    ///
    /// # Panics
    /// When the secret is empty.
    #[must_use]
    pub fn secret(secret: &[u8]) -> Self {
        let key = EncodingKey::from_secret(secret).expect("a secret that is not empty");
        Self { algorithm: Algorithm::HS256, kid: None, key }
    }

    /// Signs with [`RSA_PRIVATE_PEM`].
    #[must_use]
    pub fn rs256() -> Self {
        Self::rsa(RSA_PRIVATE_PEM)
    }

    /// Signs with another RSA key of 2048 bits: the next one of an issuer, or an attacker's.
    #[must_use]
    pub fn other_rs256() -> Self {
        Self::rsa(include_str!("../keys/rsa_other_private.pem"))
    }

    /// Signs with a P-256 key.
    #[must_use]
    pub fn es256() -> Self {
        let key = EncodingKey::from_ec_pem(include_bytes!("../keys/ec_private.pem"));
        Self { algorithm: Algorithm::ES256, kid: None, key: key.expect("the key in this crate is sound") }
    }

    /// Signs with an Ed25519 key.
    #[must_use]
    pub fn eddsa() -> Self {
        let key = EncodingKey::from_ed_pem(include_bytes!("../keys/ed_private.pem"));
        Self { algorithm: Algorithm::EdDSA, kid: None, key: key.expect("the key in this crate is sound") }
    }

    fn rsa(pem: &str) -> Self {
        let key = EncodingKey::from_rsa_pem(pem.as_bytes()).expect("the key in this crate is sound");
        Self { algorithm: Algorithm::RS256, kid: None, key }
    }

    /// The same key under a name.
    #[must_use]
    pub fn named(self, kid: &str) -> Self {
        Self { kid: Some(kid.to_owned()), ..self }
    }

    /// These claims, signed.
    #[must_use]
    pub fn sign(&self, claims: &Value) -> String {
        let mut header = json!({"typ": "JWT", "alg": format!("{:?}", self.algorithm)});
        if let Some(kid) = &self.kid {
            header["kid"] = kid.as_str().into();
        }
        self.sign_text(&header.to_string(), &claims.to_string())
    }

    /// Header and claims, text as it stands, signed as this key does, whatever the header says.
    ///
    /// # Panics
    /// When the key can't sign.
    #[must_use]
    pub fn sign_text(&self, header: &str, claims: &str) -> String {
        let message = format!("{}.{}", encode(header), encode(claims));
        let signature = jsonwebtoken::crypto::sign(message.as_bytes(), &self.key, self.algorithm);
        format!("{message}.{}", signature.expect("a key that can sign"))
    }

    /// The public half as a JWK with `alg`, `use` and, when it has a name, `kid`; a shared secret as it
    /// is.
    ///
    /// # Panics
    /// When the key has no such half.
    #[must_use]
    pub fn jwk(&self) -> Value {
        let jwk = Jwk::from_encoding_key(&self.key, self.algorithm).expect("a key with a public half");
        let mut jwk = serde_json::to_value(jwk).expect("a JWK is JSON");
        jwk["use"] = "sig".into();
        if let Some(kid) = &self.kid {
            jwk["kid"] = kid.as_str().into();
        }
        jwk
    }
}

/// A part of a token: the text in base64url.
#[must_use]
pub fn encode(text: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(text)
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
    fn every_kind_verifies_with_its_public_side() {
        let claims = claims("someone");
        let secret = DecodingKey::from_secret(HS256_SECRET.as_bytes()).unwrap();
        assert_eq!(subject(&hs256(&claims), Algorithm::HS256, &secret), "someone");
        let public = DecodingKey::from_rsa_pem(RSA_PUBLIC_PEM.as_bytes()).unwrap();
        assert_eq!(subject(&rs256(&claims), Algorithm::RS256, &public), "someone");
        for signer in [Signer::rs256(), Signer::other_rs256(), Signer::es256(), Signer::eddsa()] {
            let signer = signer.named("k1");
            let jwk: Jwk = serde_json::from_value(signer.jwk()).unwrap();
            let key = DecodingKey::from_jwk(&jwk).unwrap();
            assert_eq!(subject(&signer.sign(&claims), signer.algorithm, &key), "someone");
            let header = jsonwebtoken::decode_header(signer.sign(&claims)).unwrap();
            assert_eq!(header.kid.as_deref(), Some("k1"));
        }
    }
}

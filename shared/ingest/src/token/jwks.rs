//! A JWKS: the keys in it that can be used. One odd key never spoils the set.

use eventlane_contracts::check_json;
use jsonwebtoken::DecodingKey;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::key::{Algorithm, Key};
use super::limits::JWKS_KEYS;

/// Members that only a private key or a shared secret has (RFC 7518, 6.2.2, 6.3.2, 6.4.1).
const PRIVATE: [&str; 2] = ["d", "k"];

/// What a set was read to.
pub(crate) struct Jwks {
    pub(crate) keys: Vec<Key>,
    pub(crate) odd: Vec<Odd>,
}

/// A key that is left aside.
pub(crate) struct Odd {
    /// Its place in the set, from 0.
    pub(crate) index: usize,
    /// Why; nothing of the key.
    pub(crate) reason: String,
    /// Whether it is a key of our kind that is weak, broken or given away, rather than one that is
    /// for something else. Whoever writes such a key into the settings should hear of it.
    pub(crate) is_unsafe: bool,
}

#[derive(Deserialize)]
struct Set<'a> {
    #[serde(borrow)]
    keys: Vec<&'a RawValue>,
}

impl Jwks {
    /// Reads a set. `None` when it is none: not JSON, or without one array `keys`.
    pub(crate) fn read(text: &[u8]) -> Option<Self> {
        let set: Set<'_> = serde_json::from_slice(text).ok()?;
        let mut read = Self { keys: Vec::new(), odd: Vec::new() };
        for (index, raw) in set.keys.into_iter().enumerate() {
            if read.keys.len() == JWKS_KEYS {
                read.odd.push(odd(index, format!("comes after {JWKS_KEYS} keys"), false));
                break;
            }
            match key(raw.get()) {
                Ok(key) => read.keys.push(key),
                Err((reason, is_unsafe)) => read.odd.push(odd(index, reason, is_unsafe)),
            }
        }
        Some(read)
    }
}

fn odd(index: usize, reason: String, is_unsafe: bool) -> Odd {
    Odd { index, reason, is_unsafe }
}

/// A key, or why it is left aside and whether it is an unsafe one.
fn key(text: &str) -> Result<Key, (String, bool)> {
    let elsewhere = |reason: &str| (reason.to_owned(), false);
    let broken = |reason: String| (reason, true);
    check_json(text).map_err(|_| elsewhere("is no object that every parser reads alike"))?;
    let jwk: Map<String, Value> = serde_json::from_str(text).map_err(|_| elsewhere("is no object"))?;
    let text = |name: &str| jwk.get(name).and_then(Value::as_str);
    let kty = text("kty").ok_or_else(|| elsewhere("has no kty"))?;
    if kty == "oct" {
        return Err(elsewhere("is a shared secret; set it as such"));
    }
    if PRIVATE.iter().any(|name| jwk.contains_key(*name)) {
        return Err(broken("is a private key; give its public half alone".to_owned()));
    }
    if !may_verify(&jwk) {
        return Err(elsewhere("is not for verifying signatures, by its use or key_ops"));
    }
    let algorithm = match (kty, text("crv")) {
        ("RSA", _) => Algorithm::Rs256,
        ("EC", Some("P-256")) => Algorithm::Es256,
        ("OKP", Some("Ed25519")) => Algorithm::EdDsa,
        _ => return Err(elsewhere("has a kty or crv other than RSA, EC P-256 and OKP Ed25519")),
    };
    let named = match jwk.get("alg") {
        None => Some(algorithm),
        Some(name) => name.as_str().and_then(Algorithm::named),
    };
    if named != Some(algorithm) {
        return Err(elsewhere("has an alg other than RS256, ES256 and EdDSA, or one that isn't its kty's"));
    }
    let kid = match jwk.get("kid") {
        None => None,
        Some(Value::String(kid)) if !kid.is_empty() => Some(kid.clone()),
        Some(_) => return Err(elsewhere("has a kid that is no text")),
    };
    let part = |name: &str| text(name).unwrap_or_default();
    let read = match algorithm {
        Algorithm::Rs256 => DecodingKey::from_rsa_components(part("n"), part("e")),
        Algorithm::Es256 => DecodingKey::from_ec_components(part("x"), part("y")),
        Algorithm::EdDsa | Algorithm::Hs256 => DecodingKey::from_ed_components(part("x")),
    };
    let read = read.map_err(|_| broken("has parts that are no base64url".to_owned()))?;
    Key::public(algorithm, kid, read).map_err(broken)
}

/// Whether `use` and `key_ops`, where they are there, allow it.
fn may_verify(jwk: &Map<String, Value>) -> bool {
    let by_use = jwk.get("use").is_none_or(|purpose| purpose == "sig");
    let by_operations = match jwk.get("key_ops") {
        None => true,
        Some(Value::Array(operations)) => operations.iter().any(|operation| operation == "verify"),
        Some(_) => false,
    };
    by_use && by_operations
}

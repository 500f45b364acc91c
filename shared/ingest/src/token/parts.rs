//! A token in its parts, read strictly. Nothing here is proved yet.
//!
//! What the header says beyond algorithm and `kid` is never used: keys that a token brings along
//! (`jwk`, `x5c`) or points at (`jku`, `x5u`) are a stranger's.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use eventlane_contracts::check_json;
use serde_json::{Map, Value};

use super::error::TokenError;
use super::key::Algorithm;
use super::limits::{HEADER_BYTES, TOKEN_BYTES};

/// `typ` values that an access token may have; any other says that it was made for another purpose
/// (RFC 8725, 3.11): a logout token has issuer, audience and expiry too.
const TYPES: [&str; 4] = ["jwt", "at+jwt", "application/jwt", "application/at+jwt"];

/// A token as it was sent, its header understood.
pub(crate) struct Parts<'t> {
    pub(crate) algorithm: Algorithm,
    pub(crate) kid: Option<String>,
    /// What is signed: header and claims as sent.
    pub(crate) message: &'t str,
    pub(crate) signature: &'t str,
    claims: &'t str,
}

impl<'t> Parts<'t> {
    /// Takes a token apart and reads its header.
    pub(crate) fn read(token: &'t str) -> Result<Self, TokenError> {
        if token.len() > TOKEN_BYTES {
            return Err(TokenError::TooLarge);
        }
        let (message, signature) = token.rsplit_once('.').ok_or(TokenError::Malformed)?;
        let (header, claims) = message.split_once('.').ok_or(TokenError::Malformed)?;
        if claims.contains('.') {
            return Err(TokenError::Malformed);
        }
        if header.len() > HEADER_BYTES {
            return Err(TokenError::TooLarge);
        }
        let (algorithm, kid) = judge(&object(header)?)?;
        Ok(Self { algorithm, kid, message, signature, claims })
    }

    /// The claims, once the signature is known to fit.
    pub(crate) fn claims(&self) -> Result<Map<String, Value>, TokenError> {
        object(self.claims)
    }
}

/// The algorithm and the key id of a header that asks for nothing unusual.
fn judge(header: &Map<String, Value>) -> Result<(Algorithm, Option<String>), TokenError> {
    // Whatever is critical to the sender, nobody here understands it (RFC 7515, 4.1.11).
    if header.contains_key("crit") {
        return Err(TokenError::Header("crit"));
    }
    // A payload that is not base64url is understood by nobody here either (RFC 7797).
    if header.get("b64").is_some_and(|value| *value != Value::Bool(true)) {
        return Err(TokenError::Header("b64"));
    }
    match header.get("typ") {
        None => {}
        Some(Value::String(typ)) if TYPES.iter().any(|known| typ.eq_ignore_ascii_case(known)) => {}
        Some(_) => return Err(TokenError::Header("typ")),
    }
    let kid = match header.get("kid") {
        None => None,
        Some(Value::String(kid)) if !kid.is_empty() => Some(kid.clone()),
        Some(_) => return Err(TokenError::Header("kid")),
    };
    let name = header.get("alg").and_then(Value::as_str).ok_or(TokenError::Header("alg"))?;
    Ok((Algorithm::named(name).ok_or(TokenError::Algorithm)?, kid))
}

/// A JSON object in base64url that every parser reads alike.
fn object(encoded: &str) -> Result<Map<String, Value>, TokenError> {
    let bytes = URL_SAFE_NO_PAD.decode(encoded).map_err(|_| TokenError::Malformed)?;
    let text = std::str::from_utf8(&bytes).map_err(|_| TokenError::Malformed)?;
    check_json(text).map_err(|_| TokenError::Malformed)?;
    serde_json::from_str(text).map_err(|_| TokenError::Malformed)
}

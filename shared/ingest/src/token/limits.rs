//! Bounds on what a stranger, or a key source gone wrong, can make the door do.

use std::time::Duration;

/// Longest token looked at, in bytes: gateways take headers of 8 to 10 KB in all.
pub(crate) const TOKEN_BYTES: usize = 16_384;

/// Longest header of a token, in bytes of base64url. It is read before the signature; a `kid` and
/// even an embedded certificate chain are smaller than this.
pub(crate) const HEADER_BYTES: usize = 8_192;

/// Least bytes of an HS256 secret: as many as the hash has (RFC 7518, 3.2).
pub(crate) const SECRET_BYTES: usize = 32;

/// Least bits of an RSA modulus (RFC 7518, 3.3).
pub(crate) const RSA_BITS: usize = 2048;

/// Most bits of an RSA modulus: what the backend verifies with.
pub(crate) const RSA_BITS_MAX: usize = 8192;

/// Most bytes of a JWKS: a hundred keys with certificate chains fit, providers publish two to ten.
pub(crate) const JWKS_BYTES: usize = 262_144;

/// Most keys taken out of one JWKS.
pub(crate) const JWKS_KEYS: usize = 100;

/// Seconds by which `exp`, `nbf` and `iat` may be off unless settings say otherwise: clocks of
/// healthy machines differ by less.
pub const LEEWAY_SECONDS: u32 = 30;

/// Most seconds of leeway; more would let expired tokens in for long.
pub(crate) const LEEWAY_SECONDS_MAX: u32 = 300;

/// Seconds between two fetches of a JWKS unless settings say otherwise. A rotated key works within
/// as long, a stranger with random key ids causes no more fetches than that.
pub const JWKS_COOL_DOWN_SECONDS: u32 = 30;

/// Seconds after which a JWKS is fetched again unless settings say otherwise: a key that its issuer
/// removed is trusted for as long, and no longer while the source answers.
pub const JWKS_MAX_AGE_SECONDS: u32 = 600;

/// Longest a fetch may take unless settings say otherwise. Below the 8 s of the queue's calls, so
/// that both fit into one request well before a gateway gives up (29 s).
pub const JWKS_TIMEOUT: Duration = Duration::from_secs(3);

/// Latest time a claim may name, in unix seconds: the end of the year 9999. What is later is a
/// time in milliseconds, or nonsense.
pub(crate) const LATEST_SECONDS: f64 = 253_402_300_799.0;

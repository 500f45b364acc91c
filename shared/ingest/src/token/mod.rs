//! Tokens: whose they may be, and whether they prove it.
//!
//! ```text
//! parts (header, strictly) → key_set (which key) → key (signature) → claims (times, issuer, audience)
//!                              └ source (when keys are fetched) → fetch → jwks
//! ```
//!
//! The key decides the algorithm, the header only chooses among the keys there are. Nothing of a
//! token or a key is logged or told, but the kind of trouble.

mod claims;
mod error;
mod fetch;
#[doc(hidden)]
pub mod fuzz;
mod jwks;
mod key;
mod key_set;
mod limits;
mod modulus;
mod parts;
mod self_test;
mod settings;
mod source;
mod verifier;

pub use claims::Claims;
pub use error::{TokenError, TokenSettingsError};
pub use limits::{JWKS_COOL_DOWN_SECONDS, JWKS_MAX_AGE_SECONDS, JWKS_TIMEOUT, LEEWAY_SECONDS};
pub use settings::TokenSettings;
pub use verifier::TokenVerifier;

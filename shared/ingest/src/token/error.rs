//! What can be wrong with a token, with the settings, and with a fetch of keys.

use std::time::Duration;

/// Why a token proves nothing. Names the kind of trouble, never anything of the token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// No `Authorization: Bearer` header, or more than one.
    #[error("send one header Authorization: Bearer TOKEN")]
    Missing,
    /// Not three parts of base64url, or header or claims are no JSON object that every parser reads
    /// alike (a member twice, nested too deep, not UTF-8).
    #[error("not a token")]
    Malformed,
    /// Longer than any token has to be.
    #[error("the token is too large")]
    TooLarge,
    /// A header member asks for something that is not done here: `crit`, `b64`, an odd `typ`.
    #[error("header member {0} is not what is expected")]
    Header(&'static str),
    /// No key here has this algorithm, or the one the token names has another.
    #[error("no key here has the token's algorithm")]
    Algorithm,
    /// No key here has the token's `kid`; or it has none, and not exactly one key fits.
    #[error("no key here is the one the token names")]
    UnknownKey,
    /// The signature doesn't fit.
    #[error("the signature doesn't fit")]
    Signature,
    /// `exp` is past.
    #[error("the token has expired")]
    Expired,
    /// `nbf` or `iat` is ahead.
    #[error("the token is not valid yet")]
    NotYetValid,
    /// A claim is missing, of the wrong type, or not what is expected.
    #[error("claim {0} is missing or not what is expected")]
    Claims(&'static str),
    /// No keys could ever be loaded, so nothing can be said of the token. Answered with 503.
    #[error("the keys that tokens are verified with can't be loaded; try again later")]
    KeysUnavailable {
        /// Seconds until the next fetch, at least 1.
        retry_after_seconds: u32,
    },
}

impl TokenError {
    /// A stable word for metrics and logs.
    #[must_use]
    pub fn tag(&self) -> &'static str {
        match self {
            Self::Missing => "token_missing",
            Self::Malformed => "token_malformed",
            Self::TooLarge => "token_too_large",
            Self::Header(_) => "token_header",
            Self::Algorithm => "token_algorithm",
            Self::UnknownKey => "token_unknown_key",
            Self::Signature => "token_signature",
            Self::Expired => "token_expired",
            Self::NotYetValid => "token_not_yet_valid",
            Self::Claims(_) => "token_claims",
            Self::KeysUnavailable { .. } => "token_keys_unavailable",
        }
    }
}

/// Every offender of the token settings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the token settings are not sound:\n- {}", .0.join("\n- "))]
pub struct TokenSettingsError(pub(crate) Vec<String>);

impl TokenSettingsError {
    /// Each offender, in one line that names it, its bounds and the cure; never a secret.
    #[must_use]
    pub fn offenders(&self) -> &[String] {
        &self.0
    }
}

/// Why a fetch brought no keys.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FetchError {
    #[error("the key source took longer than {0:?}")]
    Timeout(Duration),
    #[error("the key source can't be reached")]
    Connect(#[source] hyper_util::client::legacy::Error),
    #[error("the key source broke off its answer")]
    Interrupted(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("the key source answered {0}; only 200 is taken, and no redirect is followed")]
    Status(u16),
    #[error("the key source's answer is larger than {} bytes", super::limits::JWKS_BYTES)]
    TooLarge,
    #[error("the key source's answer is no JWKS")]
    NotASet,
}

impl FetchError {
    pub(crate) fn tag(&self) -> &'static str {
        match self {
            Self::Timeout(_) => "timeout",
            Self::Connect(_) => "connect",
            Self::Interrupted(_) => "interrupted",
            Self::Status(_) => "status",
            Self::TooLarge => "too_large",
            Self::NotASet => "not_a_set",
        }
    }
}

//! Where tokens come from.

use std::fmt;

use crate::error::TokenError;

/// A token and the account it speaks for, together: events of one account are never sent as another.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    /// Sent as `Authorization: Bearer …`; `None` for an ingest that takes events without a token.
    pub token: Option<String>,
    /// Only rows that carry this account are sent. `None` in an app without accounts.
    pub account: Option<String>,
}

impl Credentials {
    /// A token in an app without accounts.
    pub fn bearer(token: impl Into<String>) -> Self {
        Self { token: Some(token.into()), account: None }
    }

    /// No token at all, for an ingest that allows it.
    #[must_use]
    pub fn anonymous() -> Self {
        Self { token: None, account: None }
    }

    /// The same token, speaking for `account`.
    #[must_use]
    pub fn for_account(self, account: impl Into<String>) -> Self {
        Self { account: Some(account.into()), ..self }
    }
}

impl fmt::Debug for Credentials {
    /// Tells that there is a token, never which.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("token", &self.token.is_some()).finish_non_exhaustive()
    }
}

/// Gives the token of who is signed in now. Asked once a pass, on the flushing thread.
pub trait TokenSource: Send + Sync {
    /// The current token; with `refresh`, a newer one than the last, which the server refused.
    ///
    /// # Errors
    /// [`TokenError`] when there is none now; the pass ends and is tried again later.
    fn token(&self, refresh: bool) -> Result<Credentials, TokenError>;
}

/// Any function of `refresh` is a source.
impl<F> TokenSource for F
where
    F: Fn(bool) -> Result<Credentials, TokenError> + Send + Sync,
{
    fn token(&self, refresh: bool) -> Result<Credentials, TokenError> {
        self(refresh)
    }
}

//! Auth: the bearer token of a request. A stranger costs no parsing.

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;

use crate::{Claims, TokenError, TokenVerifier};

/// The verified claims of the request's one bearer token.
pub(crate) fn authenticate(headers: &HeaderMap, tokens: &TokenVerifier) -> Result<Claims, TokenError> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return Err(TokenError::Missing) };
    let value = value.to_str().map_err(|_| TokenError::Malformed)?;
    let (scheme, token) = value.trim().split_once(' ').ok_or(TokenError::Missing)?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(TokenError::Missing);
    }
    tokens.verify(token.trim_start())
}

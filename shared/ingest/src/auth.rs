//! Auth: the bearer token of a request. A stranger costs no parsing.

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;

use crate::{Claims, TokenError, TokenVerifier};

/// The verified claims of the request's one bearer token; no claims for a request without any, where
/// that is allowed.
pub(crate) async fn authenticate(headers: &HeaderMap, tokens: &TokenVerifier) -> Result<Claims, TokenError> {
    if tokens.allows_anonymous() && !headers.contains_key(AUTHORIZATION) {
        return Ok(Claims::default());
    }
    tokens.verify(bearer(headers)?).await
}

fn bearer(headers: &HeaderMap) -> Result<&str, TokenError> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return Err(TokenError::Missing) };
    let value = value.to_str().map_err(|_| TokenError::Malformed)?;
    let (scheme, token) = value.trim().split_once(' ').ok_or(TokenError::Missing)?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(TokenError::Missing);
    }
    Ok(token.trim_start())
}

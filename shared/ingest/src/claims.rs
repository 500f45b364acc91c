//! Claims of a verified token, and the judgement on its times, issuer and audience.
//!
//! The library's own checks pass a token that lacks a claim and read the machine's clock; ours do
//! neither.

use serde_json::{Map, Value};

use crate::TokenError;

/// The claims of a token whose signature, times, issuer and audience were verified.
#[derive(Clone)]
pub struct Claims(Map<String, Value>);

impl Claims {
    /// The claims as JSON, for reading.
    #[must_use]
    pub fn as_map(&self) -> &Map<String, Value> {
        &self.0
    }
}

// Claims are personal: they don't print.
impl std::fmt::Debug for Claims {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Claims").finish_non_exhaustive()
    }
}

/// What a token's claims are held to.
#[derive(Debug, Clone, Default)]
pub(crate) struct Expected {
    pub(crate) issuer: Option<String>,
    pub(crate) audience: Option<String>,
    pub(crate) leeway_seconds: u32,
}

impl Expected {
    /// The claims, when they hold at `now_us`.
    pub(crate) fn judge(&self, claims: Map<String, Value>, now_us: i64) -> Result<Claims, TokenError> {
        #[expect(clippy::cast_precision_loss, reason = "token times are whole seconds far below 2^53")]
        let now = now_us as f64 / 1e6;
        let leeway = f64::from(self.leeway_seconds);
        let expires = date(claims.get("exp")).ok_or(TokenError::Claims("exp"))?;
        if expires + leeway <= now {
            return Err(TokenError::Expired);
        }
        if let Some(not_before) = claims.get("nbf") {
            let not_before = date(Some(not_before)).ok_or(TokenError::Claims("nbf"))?;
            if not_before - leeway > now {
                return Err(TokenError::NotYetValid);
            }
        }
        if let Some(issuer) = &self.issuer
            && claims.get("iss").and_then(Value::as_str) != Some(issuer)
        {
            return Err(TokenError::Claims("iss"));
        }
        if let Some(audience) = &self.audience
            && !names(claims.get("aud"), audience)
        {
            return Err(TokenError::Claims("aud"));
        }
        Ok(Claims(claims))
    }
}

/// A NumericDate: seconds since 1970, never negative, never text.
fn date(value: Option<&Value>) -> Option<f64> {
    value?.as_f64().filter(|seconds| *seconds >= 0.0)
}

fn names(claim: Option<&Value>, audience: &str) -> bool {
    match claim {
        Some(Value::String(one)) => one == audience,
        Some(Value::Array(many)) => many.iter().any(|one| one == audience),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn judge(claims: Value) -> Result<(), TokenError> {
        let expected =
            Expected { issuer: Some("us".into()), audience: Some("lane".into()), leeway_seconds: 30 };
        expected.judge(claims.as_object().unwrap().clone(), 1_000_000_000).map(|_| ())
    }

    #[test]
    fn times_issuer_and_audience_hold_or_are_named() {
        let good = json!({"exp": 1001, "iss": "us", "aud": "lane"});
        let with = |key: &str, value: Value| {
            let mut claims = good.clone();
            claims[key] = value;
            claims
        };
        assert_eq!(judge(good.clone()), Ok(()));
        assert_eq!(judge(with("exp", json!(971))), Ok(()), "within the leeway");
        assert_eq!(judge(with("exp", json!(970))), Err(TokenError::Expired));
        assert_eq!(judge(with("aud", json!(["other", "lane"]))), Ok(()));
        assert_eq!(judge(with("nbf", json!(1030))), Ok(()), "within the leeway");
        assert_eq!(judge(with("nbf", json!(1031))), Err(TokenError::NotYetValid));
        for (key, value) in [
            ("exp", json!(null)),
            ("exp", json!(-1)),
            ("exp", json!("99999999999")),
            ("nbf", json!("99999999999")),
            ("nbf", json!(null)),
            ("iss", json!(null)),
            ("iss", json!(["us"])),
            ("aud", json!([])),
            ("aud", json!({"lane": 1})),
        ] {
            assert_eq!(judge(with(key, value.clone())), Err(TokenError::Claims(key)), "{key} {value}");
        }
    }
}

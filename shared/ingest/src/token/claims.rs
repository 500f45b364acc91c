//! Claims of a verified token, and the judgement on its times, issuer and audience.
//!
//! The library's own checks pass a token that lacks a claim and read the machine's clock; ours do
//! neither.

use serde_json::{Map, Value};

use super::error::TokenError;
use super::limits::LATEST_SECONDS;

/// The claims of a token whose signature, times, issuer and audience were verified; none at all
/// where a request without a token is let in.
#[derive(Clone, Default)]
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

/// The claim an audience is looked for in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AudienceClaim {
    /// A text or an array of texts.
    Aud,
    /// A text, nothing else.
    ClientId,
}

/// What a token's claims are held to.
#[derive(Debug, Clone)]
pub(crate) struct Expected {
    pub(crate) issuer: Option<String>,
    /// Any of these; nothing is asked where it is empty.
    pub(crate) audiences: Vec<String>,
    pub(crate) audience_claim: AudienceClaim,
    pub(crate) token_use: Option<String>,
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
        // A token from the future was made by a clock, or an issuer, that can't be relied on.
        for name in ["nbf", "iat"] {
            if let Some(from) = claims.get(name)
                && date(Some(from)).ok_or(TokenError::Claims(name))? - leeway > now
            {
                return Err(TokenError::NotYetValid);
            }
        }
        let says = |name: &str, text: &str| claims.get(name).and_then(Value::as_str) == Some(text);
        if self.issuer.as_ref().is_some_and(|issuer| !says("iss", issuer)) {
            return Err(TokenError::Claims("iss"));
        }
        if let Some(token_use) = &self.token_use
            && !says("token_use", token_use)
        {
            return Err(TokenError::Claims("token_use"));
        }
        if !self.audiences.is_empty() {
            self.judge_audience(&claims)?;
        }
        Ok(Claims(claims))
    }

    fn judge_audience(&self, claims: &Map<String, Value>) -> Result<(), TokenError> {
        let is_ours =
            |one: &Value| one.as_str().is_some_and(|one| self.audiences.iter().any(|ours| ours == one));
        match self.audience_claim {
            AudienceClaim::Aud => match claims.get("aud") {
                Some(one @ Value::String(_)) if is_ours(one) => Ok(()),
                Some(Value::Array(many)) if many.iter().all(Value::is_string) && many.iter().any(is_ours) => {
                    Ok(())
                }
                _ => Err(TokenError::Claims("aud")),
            },
            AudienceClaim::ClientId if claims.get("client_id").is_some_and(is_ours) => Ok(()),
            AudienceClaim::ClientId => Err(TokenError::Claims("client_id")),
        }
    }
}

/// A NumericDate: seconds since 1970, never negative, never text, never milliseconds.
fn date(value: Option<&Value>) -> Option<f64> {
    value?.as_f64().filter(|seconds| (0.0..=LATEST_SECONDS).contains(seconds))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn expected() -> Expected {
        Expected {
            issuer: Some("us".into()),
            audiences: vec!["lane".into(), "tablet".into()],
            audience_claim: AudienceClaim::Aud,
            token_use: None,
            leeway_seconds: 30,
        }
    }

    fn judge(expected: &Expected, claims: &Value) -> Result<(), TokenError> {
        expected.judge(claims.as_object().unwrap().clone(), 1_000_000_000).map(|_| ())
    }

    #[test]
    fn times_issuer_and_audience_hold_or_are_named() {
        let good = json!({"exp": 1001, "iss": "us", "aud": "lane"});
        let with = |key: &str, value: Value| {
            let mut claims = good.clone();
            claims[key] = value;
            judge(&expected(), &claims)
        };
        assert_eq!(judge(&expected(), &good), Ok(()));
        assert_eq!(with("exp", json!(971)), Ok(()), "within the leeway");
        assert_eq!(with("exp", json!(970.5)), Ok(()), "a fraction counts");
        assert_eq!(with("exp", json!(970)), Err(TokenError::Expired));
        assert_eq!(with("aud", json!(["other", "lane"])), Ok(()));
        assert_eq!(with("aud", json!("tablet")), Ok(()), "either audience");
        for name in ["nbf", "iat"] {
            assert_eq!(with(name, json!(1030)), Ok(()), "within the leeway");
            assert_eq!(with(name, json!(1031)), Err(TokenError::NotYetValid));
        }
        for (key, value) in [
            ("exp", json!(null)),
            ("exp", json!(-1)),
            ("exp", json!("99999999999")),
            ("exp", json!(1_764_518_460_000_i64)),
            ("exp", json!(1e300)),
            ("nbf", json!("99999999999")),
            ("nbf", json!(null)),
            ("iat", json!("1000")),
            ("iss", json!(null)),
            ("iss", json!(["us"])),
            ("iss", json!("us ")),
            ("aud", json!(null)),
            ("aud", json!([])),
            ("aud", json!(["lane", 1])),
            ("aud", json!([["lane"]])),
            ("aud", json!({"lane": 1})),
        ] {
            assert_eq!(with(key, value.clone()), Err(TokenError::Claims(key)), "{key} {value}");
        }
    }

    #[test]
    fn a_client_id_stands_in_for_the_audience_where_that_is_said() {
        let cognito = Expected {
            audience_claim: AudienceClaim::ClientId,
            token_use: Some("access".into()),
            ..expected()
        };
        let access = json!({"exp": 1001, "iss": "us", "client_id": "lane", "token_use": "access"});
        assert_eq!(judge(&cognito, &access), Ok(()));
        let with = |key: &str, value: Value| {
            let mut claims = access.clone();
            claims[key] = value;
            judge(&cognito, &claims)
        };
        assert_eq!(with("client_id", json!("other")), Err(TokenError::Claims("client_id")));
        assert_eq!(with("client_id", json!(["lane"])), Err(TokenError::Claims("client_id")));
        assert_eq!(with("token_use", json!("id")), Err(TokenError::Claims("token_use")));
        let id = json!({"exp": 1001, "iss": "us", "aud": "lane", "token_use": "access"});
        assert_eq!(judge(&cognito, &id), Err(TokenError::Claims("client_id")), "aud doesn't count then");
        assert_eq!(judge(&expected(), &access), Err(TokenError::Claims("aud")), "nor client_id otherwise");
    }
}

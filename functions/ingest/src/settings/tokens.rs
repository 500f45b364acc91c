//! The settings of tokens; `docs/tokens.md` says more of each.
//!
//! | variable | what |
//! | --- | --- |
//! | `EVENTLANE_HS256_SECRET` | shared secret of HS256 tokens, at least 32 bytes |
//! | `EVENTLANE_RS256_PUBLIC_KEY` | public key of RS256 tokens, PEM, 2048 to 8192 bits |
//! | `EVENTLANE_ES256_PUBLIC_KEY` | public key of ES256 tokens, PEM, P-256 |
//! | `EVENTLANE_EDDSA_PUBLIC_KEY` | public key of EdDSA tokens, PEM, Ed25519 |
//! | `EVENTLANE_JWKS` | a JWKS as JSON text; issuer and audience must be set with it |
//! | `EVENTLANE_JWKS_URL` | where a JWKS is fetched, https; issuer and audience must be set with it |
//! | `EVENTLANE_JWKS_COOL_DOWN_SECONDS` | seconds between two fetches, 1 to 3600; 30 if not set |
//! | `EVENTLANE_JWKS_MAX_AGE_SECONDS` | seconds until the set is fetched again, cool-down to 86400; 600 if not set |
//! | `EVENTLANE_JWKS_TIMEOUT_MS` | milliseconds a fetch may take, 1 to 10000; 3000 if not set |
//! | `EVENTLANE_ISSUER` | the `iss` that tokens must carry, where set |
//! | `EVENTLANE_AUDIENCE` | the audiences of which tokens must carry one, where set; commas between |
//! | `EVENTLANE_AUDIENCE_CLAIM` | `aud`, or `client_id`; `aud` if not set |
//! | `EVENTLANE_TOKEN_USE` | the `token_use` that tokens must carry, where set |
//! | `EVENTLANE_LEEWAY_SECONDS` | seconds by which times may be off, 0 to 300; 30 if not set |
//! | `EVENTLANE_ALLOW_ANONYMOUS` | `true` lets requests without a token in; only while no stream has an identity |

use std::sync::Arc;
use std::time::Duration;

use eventlane_contracts::{Clock, Registry};
use eventlane_ingest::{TokenSettings, TokenVerifier};

use super::number;

/// Reads and judges what tokens are held to; every offender is added to `faults`.
pub(crate) fn read(
    set: impl Fn(&str) -> Option<String>,
    registry: &Registry,
    clock: Arc<dyn Clock>,
    faults: &mut Vec<String>,
) -> Option<TokenVerifier> {
    let before = faults.len();
    let mut seconds = |name: &str, range: &str| number::<u32>(&set, name, range, faults);
    let jwks_cool_down_seconds = seconds("EVENTLANE_JWKS_COOL_DOWN_SECONDS", "seconds from 1 to 3600");
    let jwks_max_age_seconds = seconds("EVENTLANE_JWKS_MAX_AGE_SECONDS", "seconds up to 86400");
    let timeout_ms = seconds("EVENTLANE_JWKS_TIMEOUT_MS", "milliseconds from 1 to 10000");
    let leeway_seconds = seconds("EVENTLANE_LEEWAY_SECONDS", "seconds from 0 to 300");
    let allow_anonymous = match set("EVENTLANE_ALLOW_ANONYMOUS").as_deref().map(str::trim) {
        None | Some("false") => false,
        Some("true") => true,
        Some(_) => {
            faults.push("EVENTLANE_ALLOW_ANONYMOUS is neither true nor false".to_owned());
            false
        }
    };
    let audiences = set("EVENTLANE_AUDIENCE").unwrap_or_default();
    let text = |name: &str| set(name).map(|text| text.trim().to_owned());
    let settings = TokenSettings {
        // A secret is taken byte for byte.
        hs256_secret: set("EVENTLANE_HS256_SECRET"),
        rs256_public_key: set("EVENTLANE_RS256_PUBLIC_KEY"),
        es256_public_key: set("EVENTLANE_ES256_PUBLIC_KEY"),
        eddsa_public_key: set("EVENTLANE_EDDSA_PUBLIC_KEY"),
        jwks: set("EVENTLANE_JWKS"),
        jwks_url: text("EVENTLANE_JWKS_URL"),
        jwks_cool_down_seconds,
        jwks_max_age_seconds,
        jwks_timeout: timeout_ms.map(|ms| Duration::from_millis(ms.into())),
        issuer: text("EVENTLANE_ISSUER"),
        audiences: audiences
            .split(',')
            .map(str::trim)
            .filter(|one| !one.is_empty())
            .map(Into::into)
            .collect(),
        audience_claim: text("EVENTLANE_AUDIENCE_CLAIM"),
        token_use: text("EVENTLANE_TOKEN_USE"),
        leeway_seconds,
        allow_anonymous,
    };
    match settings.verifier(registry, clock) {
        Ok(verifier) => (faults.len() == before).then_some(verifier),
        Err(error) => {
            faults.extend(error.offenders().iter().cloned());
            None
        }
    }
}

//! Which tokens are trusted: the settings, judged as a whole before the first request.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use eventlane_contracts::{Clock, Registry};

use super::claims::{AudienceClaim, Expected};
use super::error::TokenSettingsError;
use super::fetch::Fetcher;
use super::jwks::Jwks;
use super::key::{Algorithm, Key};
use super::key_set::KeySet;
use super::limits::{
    JWKS_COOL_DOWN_SECONDS, JWKS_MAX_AGE_SECONDS, JWKS_TIMEOUT, LEEWAY_SECONDS, LEEWAY_SECONDS_MAX,
};
use super::self_test;
use super::source::{KeySource, State};
use super::verifier::TokenVerifier;

/// How tokens are verified. At least one key or key source is needed, or `allow_anonymous`.
#[derive(Clone, Default)]
pub struct TokenSettings {
    /// Shared secret of HS256 tokens, at least 32 bytes.
    pub hs256_secret: Option<String>,
    /// Public key of RS256 tokens, PEM, 2048 to 8192 bits.
    pub rs256_public_key: Option<String>,
    /// Public key of ES256 tokens, PEM, on P-256.
    pub es256_public_key: Option<String>,
    /// Public key of EdDSA tokens, PEM, Ed25519.
    pub eddsa_public_key: Option<String>,
    /// A JWKS as JSON text. Needs `issuer` and `audiences`.
    pub jwks: Option<String>,
    /// Where a JWKS is fetched: `https`, or `http` on a loopback host. Needs `issuer` and
    /// `audiences`.
    pub jwks_url: Option<String>,
    /// Seconds between two fetches, 1 to 3600; [`JWKS_COOL_DOWN_SECONDS`] where not set.
    pub jwks_cool_down_seconds: Option<u32>,
    /// Seconds after which the set is fetched again, from the cool-down up to 86400;
    /// [`JWKS_MAX_AGE_SECONDS`] where not set.
    pub jwks_max_age_seconds: Option<u32>,
    /// Longest a fetch may take, above 0 and up to 10 s; [`JWKS_TIMEOUT`] where not set.
    pub jwks_timeout: Option<Duration>,
    /// The `iss` that tokens must carry, letter by letter.
    pub issuer: Option<String>,
    /// The audiences of which tokens must carry one.
    pub audiences: Vec<String>,
    /// The claim that carries the audience: `aud` where not set, or `client_id`, which Amazon
    /// Cognito's access tokens have in its place.
    pub audience_claim: Option<String>,
    /// The `token_use` that tokens must carry, where set: `access` or `id` with Amazon Cognito.
    pub token_use: Option<String>,
    /// Seconds by which times may be off, 0 to 300; [`LEEWAY_SECONDS`] where not set.
    pub leeway_seconds: Option<u32>,
    /// Whether requests without a token are let in. Only while no stream has an identity; a token
    /// that is sent is verified all the same.
    pub allow_anonymous: bool,
}

impl TokenSettings {
    /// Judges the settings, tests the crypto backend and builds the verifier. Nothing is fetched yet.
    ///
    /// # Errors
    /// [`TokenSettingsError`] with every offender: no key, a weak or unreadable one, a JWKS without
    /// issuer and audience, a number out of its range, `allow_anonymous` beside a stream with an
    /// identity, a build whose crypto backend doesn't work.
    pub fn verifier(
        self,
        registry: &Registry,
        clock: Arc<dyn Clock>,
    ) -> Result<TokenVerifier, TokenSettingsError> {
        let mut faults = Vec::new();
        faults.extend(self_test::run().err());
        let own = self.own_keys(&mut faults);
        let source = self.source(&clock, &mut faults);
        let expected = self.expected(&mut faults);
        faults.extend(self.without_proof(registry));
        if !faults.is_empty() {
            return Err(TokenSettingsError(faults));
        }
        Ok(TokenVerifier { own, source, expected, allow_anonymous: self.allow_anonymous, clock })
    }

    /// The keys that stand in the settings.
    fn own_keys(&self, faults: &mut Vec<String>) -> KeySet {
        let mut keys = Vec::new();
        let mut take = |name: &str, key: Result<Key, String>| match key {
            Ok(key) => keys.push(key),
            Err(fault) => faults.push(format!("{name} {fault}")),
        };
        if let Some(secret) = &self.hs256_secret {
            take("the HS256 secret", Key::secret(secret.as_bytes()));
        }
        for (name, algorithm, pem) in [
            ("the RS256 public key", Algorithm::Rs256, &self.rs256_public_key),
            ("the ES256 public key", Algorithm::Es256, &self.es256_public_key),
            ("the EdDSA public key", Algorithm::EdDsa, &self.eddsa_public_key),
        ] {
            if let Some(pem) = pem {
                take(name, Key::pem(algorithm, pem));
            }
        }
        if let Some(text) = &self.jwks {
            match Jwks::read(text.as_bytes()) {
                None => faults.push("the inline JWKS is no JSON object with one array `keys`".to_owned()),
                Some(jwks) => {
                    let unsafe_keys = jwks.odd.iter().filter(|odd| odd.is_unsafe || jwks.keys.is_empty());
                    let told = |odd: &super::jwks::Odd| {
                        format!("key {} of the inline JWKS {}", odd.index, odd.reason)
                    };
                    faults.extend(unsafe_keys.map(told));
                    if jwks.keys.is_empty() {
                        faults.push("the inline JWKS has no key that can be used".to_owned());
                    }
                    keys.extend(jwks.keys);
                }
            }
        }
        KeySet(keys)
    }

    /// The key source, when there is one.
    fn source(&self, clock: &Arc<dyn Clock>, faults: &mut Vec<String>) -> Option<Arc<KeySource>> {
        let cool_down = self.jwks_cool_down_seconds.unwrap_or(JWKS_COOL_DOWN_SECONDS);
        let max_age = self.jwks_max_age_seconds.unwrap_or(JWKS_MAX_AGE_SECONDS.max(cool_down));
        let timeout = self.jwks_timeout.unwrap_or(JWKS_TIMEOUT);
        if !(1..=3600).contains(&cool_down) {
            faults.push(format!("the JWKS cool-down is {cool_down} s, it must be 1 to 3600 s"));
        }
        if max_age < cool_down || max_age > 86_400 {
            faults.push(format!(
                "the JWKS maximum age is {max_age} s, it must be from the cool-down ({cool_down} s) up to 86400 s"
            ));
        }
        if timeout.is_zero() || timeout > Duration::from_secs(10) {
            faults.push(format!("the JWKS timeout is {timeout:?}, it must be above 0 and up to 10 s"));
        }
        match Fetcher::new(self.jwks_url.as_deref()?, timeout) {
            Ok(fetcher) => Some(Arc::new(KeySource {
                fetcher,
                cool_down: Duration::from_secs(cool_down.into()),
                max_age: Duration::from_secs(max_age.into()),
                clock: Arc::clone(clock),
                state: Mutex::new(State::default()),
            })),
            Err(fault) => {
                faults.push(format!("the JWKS URL {fault}"));
                None
            }
        }
    }

    /// What claims are held to.
    fn expected(&self, faults: &mut Vec<String>) -> Expected {
        let leeway_seconds = self.leeway_seconds.unwrap_or(LEEWAY_SECONDS);
        if leeway_seconds > LEEWAY_SECONDS_MAX {
            faults.push(format!("leeway is {leeway_seconds} s, it must be 0 to {LEEWAY_SECONDS_MAX} s"));
        }
        let set = [("issuer", &self.issuer), ("token_use", &self.token_use)];
        let texts = set.into_iter().filter_map(|(name, text)| Some((name, text.as_ref()?)));
        for (name, text) in texts.chain(self.audiences.iter().map(|one| ("audience", one))) {
            if text.trim().is_empty() {
                faults.push(format!("{name} is set and empty"));
            }
        }
        if self.jwks.is_some() || self.jwks_url.is_some() {
            // Such keys sign for every client of their issuer, not for this lane alone.
            if self.issuer.is_none() {
                faults.push("issuer is not set; with a JWKS it must be".to_owned());
            }
            if self.audiences.is_empty() {
                faults.push("audience is not set; with a JWKS it must be".to_owned());
            }
        }
        let audience_claim = match self.audience_claim.as_deref() {
            None | Some("aud") => AudienceClaim::Aud,
            Some("client_id") => AudienceClaim::ClientId,
            Some(_) => {
                faults.push("the audience claim must be aud or client_id".to_owned());
                AudienceClaim::Aud
            }
        };
        if self.audience_claim.is_some() && self.audiences.is_empty() {
            faults.push("the audience claim is set and no audience is".to_owned());
        }
        Expected {
            issuer: self.issuer.clone(),
            audiences: self.audiences.clone(),
            audience_claim,
            token_use: self.token_use.clone(),
            leeway_seconds,
        }
    }

    /// What is wrong with who is let in at all.
    fn without_proof(&self, registry: &Registry) -> Option<String> {
        let keys = [
            &self.hs256_secret,
            &self.rs256_public_key,
            &self.es256_public_key,
            &self.eddsa_public_key,
            &self.jwks,
            &self.jwks_url,
        ];
        if !self.allow_anonymous {
            return keys.iter().all(|key| key.is_none()).then(|| {
                "no key: set an HS256 secret, an RS256, ES256 or EdDSA public key, or a JWKS".to_owned()
            });
        }
        let stamped = registry.streams().filter(|stream| !stream.identity().is_empty());
        let names: Vec<&str> = stamped.map(|stream| stream.name().as_str()).collect();
        (!names.is_empty()).then(|| {
            format!(
                "allow_anonymous is set, and these streams have an identity that only a token can give: {}",
                names.join(", ")
            )
        })
    }
}

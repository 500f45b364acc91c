//! Whose tokens are taken, asked through the door.

mod accepted;
mod attacks;
mod mutation;
mod rotation;
mod settings;
mod source;
mod storm;

use std::time::Duration;

use eventlane_testkit::jwks::{FakeJwks, KeyAnswer};
use eventlane_testkit::tokens::Signer;

use super::*;
use crate::TokenError;

const ISSUER: &str = "https://id.example.com/";
const AUDIENCE: &str = "eventlane";

/// [`ManualClock::default`] in unix seconds.
const NOW: i64 = 1_760_000_000;

/// Claims that hold for a year.
fn good_claims() -> Value {
    json!({"sub": "u1", "iss": ISSUER, "aud": AUDIENCE, "exp": NOW + 31_536_000})
}

/// Each algorithm's key: the secret without a name, the others as `rsa`, `ec` and `ed`.
fn signers() -> [Signer; 4] {
    [Signer::hs256(), Signer::rs256().named("rsa"), Signer::es256().named("ec"), Signer::eddsa().named("ed")]
}

/// Settings with the secret and an inline JWKS of the three public keys.
fn inline() -> TokenSettings {
    let [_, rsa, ec, ed] = signers();
    TokenSettings {
        hs256_secret: Some(HS256_SECRET.into()),
        jwks: Some(json!({"keys": [rsa.jwk(), ec.jwk(), ed.jwk()]}).to_string()),
        ..with_audience()
    }
}

fn with_audience() -> TokenSettings {
    TokenSettings {
        issuer: Some(ISSUER.into()),
        audiences: vec![AUDIENCE.into()],
        ..TokenSettings::default()
    }
}

/// A door, its clock, and the source its keys come from.
struct Rig {
    door: Door,
    clock: ManualClock,
    jwks: FakeJwks,
}

/// A door whose only keys come from a source on this machine.
fn rig(answer: KeyAnswer) -> Rig {
    rig_with(answer, TokenSettings::default())
}

fn rig_with(answer: KeyAnswer, settings: TokenSettings) -> Rig {
    let jwks = FakeJwks::start(answer);
    let clock = ManualClock::default();
    let settings = TokenSettings { jwks_url: Some(jwks.url()), ..settings };
    let settings =
        TokenSettings { issuer: with_audience().issuer, audiences: with_audience().audiences, ..settings };
    let door = door_of(settings, &clock);
    Rig { door, clock, jwks }
}

fn door_of(settings: TokenSettings, clock: &ManualClock) -> Door {
    let verifier = settings.verifier(&registry(), Arc::new(clock.clone())).unwrap();
    door_for(verifier, Queues::default(), Arc::new(AdmitAll), registry(), IngestOptions::default())
}

impl Door {
    /// What one event with this token is answered.
    async fn with_token(&self, token: &str) -> Answered {
        let mut request = request(batch(&[Event::new(1, "any_thing", "1")]));
        request.headers_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
        self.ask(request).await
    }

    async fn status(&self, token: &str) -> u16 {
        self.with_token(token).await.status
    }
}

impl Answered {
    /// Whether this is the answer to that trouble with a token, its text included.
    fn is(&self, trouble: &TokenError) -> bool {
        let fault = crate::Fault::from(trouble.clone());
        self.status == fault.status().as_u16() && self.body["message"] == fault.to_string()
    }
}

fn named(signer: Signer, kid: &str) -> (Value, String) {
    let signer = signer.named(kid);
    (signer.jwk(), signer.sign(&good_claims()))
}

//! Keys come and go: unknown ones are asked for once a cool-down, removed ones end with the set's age.

use super::*;
use crate::{JWKS_COOL_DOWN_SECONDS, JWKS_MAX_AGE_SECONDS};

const COOL_DOWN: Duration = Duration::from_secs(JWKS_COOL_DOWN_SECONDS as u64);
const MAX_AGE: Duration = Duration::from_secs(JWKS_MAX_AGE_SECONDS as u64);
const SECOND: Duration = Duration::from_secs(1);

#[tokio::test]
async fn one_fetch_serves_every_algorithm_and_token() {
    let [hmac, rsa, ec, ed] = signers();
    let rig = rig(KeyAnswer::Keys(vec![rsa.jwk(), ec.jwk(), ed.jwk()]));
    assert_eq!(rig.jwks.fetches(), 0, "nothing is fetched before it is needed");
    for _ in 0..3 {
        for signer in [&rsa, &ec, &ed] {
            assert_eq!(rig.door.status(&signer.sign(&good_claims())).await, 200);
        }
    }
    assert!(rig.door.with_token(&hmac.sign(&good_claims())).await.is(&TokenError::UnknownKey));
    assert_eq!(rig.jwks.fetches(), 1);
    let headers = &rig.jwks.headers()[0];
    assert!(!headers.contains_key("authorization"), "the token goes nowhere");
    assert!(headers["accept"].to_str().unwrap().contains("application/json"));
}

#[tokio::test]
async fn a_rotated_key_works_within_one_cool_down() {
    let (old_jwk, old) = named(Signer::rs256(), "old");
    let (new_jwk, new) = named(Signer::other_rs256(), "new");
    let rig = rig(KeyAnswer::Keys(vec![old_jwk.clone()]));
    assert_eq!(rig.door.status(&old).await, 200);
    rig.jwks.serve([new_jwk, old_jwk]);
    assert!(rig.door.with_token(&new).await.is(&TokenError::UnknownKey));
    rig.clock.advance(COOL_DOWN - SECOND);
    assert!(rig.door.with_token(&new).await.is(&TokenError::UnknownKey));
    assert_eq!(rig.jwks.fetches(), 1, "not within the cool-down");
    rig.clock.advance(SECOND);
    for token in [&new, &old, &new] {
        assert_eq!(rig.door.status(token).await, 200);
    }
    assert_eq!(rig.jwks.fetches(), 2);
}

#[tokio::test]
async fn a_key_without_a_name_is_rotated_too() {
    let nameless = |signer: Signer| (signer.jwk(), signer.sign(&good_claims()));
    let (old_jwk, old) = nameless(Signer::rs256());
    let (new_jwk, new) = nameless(Signer::other_rs256());
    let rig = rig(KeyAnswer::Keys(vec![old_jwk]));
    assert_eq!(rig.door.status(&old).await, 200);
    rig.jwks.serve([new_jwk]);
    assert!(rig.door.with_token(&new).await.is(&TokenError::Signature));
    rig.clock.advance(COOL_DOWN);
    assert_eq!(rig.door.status(&new).await, 200);
    assert!(rig.door.with_token(&old).await.is(&TokenError::Signature));
    // A kid that nobody has means the nameless key as well.
    assert_eq!(rig.door.status(&Signer::other_rs256().named("x").sign(&good_claims())).await, 200);
}

#[tokio::test]
async fn a_removed_key_is_refused_once_the_set_is_of_age() {
    let (old_jwk, old) = named(Signer::rs256(), "old");
    let (new_jwk, new) = named(Signer::other_rs256(), "new");
    let rig = rig(KeyAnswer::Keys(vec![old_jwk, new_jwk.clone()]));
    assert_eq!(rig.door.status(&old).await, 200);
    rig.jwks.serve([new_jwk]);
    rig.clock.advance(MAX_AGE - SECOND);
    assert_eq!(rig.door.status(&old).await, 200);
    assert_eq!(rig.jwks.fetches(), 1);
    rig.clock.advance(SECOND);
    assert!(rig.door.with_token(&old).await.is(&TokenError::UnknownKey), "the same request asks and obeys");
    assert_eq!(rig.door.status(&new).await, 200);
    assert_eq!(rig.jwks.fetches(), 2);
    // An issuer that takes all its keys back is obeyed as well.
    rig.jwks.serve([]);
    rig.clock.advance(MAX_AGE);
    assert!(rig.door.with_token(&new).await.is(&TokenError::UnknownKey));
}

#[tokio::test]
async fn a_clock_that_was_set_back_delays_nothing() {
    let (old_jwk, old) = named(Signer::rs256(), "old");
    let (new_jwk, new) = named(Signer::other_rs256(), "new");
    let rig = rig(KeyAnswer::Keys(vec![old_jwk]));
    assert_eq!(rig.door.status(&old).await, 200);
    rig.jwks.serve([new_jwk]);
    rig.clock.rewind(Duration::from_secs(86_400));
    assert_eq!(rig.door.status(&new).await, 200);
    assert!(rig.door.with_token(&old).await.is(&TokenError::UnknownKey));
    assert_eq!(rig.jwks.fetches(), 2, "and only once: the cool-down starts anew");
    rig.clock.advance(COOL_DOWN);
    assert!(rig.door.with_token(&old).await.is(&TokenError::UnknownKey));
    assert_eq!(rig.jwks.fetches(), 3);
}

#[tokio::test]
async fn a_key_known_by_name_whose_signature_fails_is_worth_no_fetch() {
    let (jwk, good) = named(Signer::rs256(), "k");
    let rig = rig(KeyAnswer::Keys(vec![jwk]));
    assert_eq!(rig.door.status(&good).await, 200);
    rig.clock.advance(COOL_DOWN);
    let forged = Signer::other_rs256().named("k").sign(&good_claims());
    assert!(rig.door.with_token(&forged).await.is(&TokenError::Signature));
    let other = Signer::es256().named("k").sign(&good_claims());
    assert!(rig.door.with_token(&other).await.is(&TokenError::Algorithm));
    assert_eq!(rig.jwks.fetches(), 1);
}

#[tokio::test]
async fn the_times_are_the_settings() {
    let (jwk, good) = named(Signer::rs256(), "k");
    let settings = TokenSettings {
        jwks_cool_down_seconds: Some(2),
        jwks_max_age_seconds: Some(5),
        ..TokenSettings::default()
    };
    let rig = rig_with(KeyAnswer::Keys(vec![jwk]), settings);
    let stranger = Signer::rs256().named("x").sign(&good_claims());
    assert_eq!(rig.door.status(&good).await, 200);
    for (seconds, token, fetches) in
        [(1, &stranger, 1), (1, &stranger, 2), (2, &good, 2), (2, &good, 2), (1, &good, 3)]
    {
        rig.clock.advance(SECOND * seconds);
        rig.door.status(token).await;
        assert_eq!(rig.jwks.fetches(), fetches);
    }
}

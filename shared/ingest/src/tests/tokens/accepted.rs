//! What is let in: four algorithms, and the odd but sound token.

use super::*;

#[tokio::test]
async fn every_algorithm_is_taken_from_inline_keys_and_from_pem() {
    let clock = ManualClock::default();
    let pem = TokenSettings {
        hs256_secret: Some(HS256_SECRET.into()),
        rs256_public_key: Some(eventlane_testkit::tokens::RSA_PUBLIC_PEM.into()),
        es256_public_key: Some(eventlane_testkit::tokens::EC_PUBLIC_PEM.into()),
        eddsa_public_key: Some(eventlane_testkit::tokens::ED_PUBLIC_PEM.into()),
        ..TokenSettings::default()
    };
    for (settings, kind) in [(inline(), "inline"), (pem, "pem")] {
        let door = door_of(settings, &clock);
        for signer in signers() {
            assert_eq!(door.status(&signer.sign(&good_claims())).await, 200, "{kind}");
        }
    }
}

#[tokio::test]
async fn a_token_without_a_kid_is_taken_when_one_key_fits() {
    let clock = ManualClock::default();
    let door = door_of(inline(), &clock);
    for signer in [Signer::hs256(), Signer::rs256(), Signer::es256(), Signer::eddsa()] {
        assert_eq!(door.status(&signer.sign(&good_claims())).await, 200);
    }
    let [_, rsa, ..] = signers();
    let two = json!({"keys": [rsa.jwk(), Signer::other_rs256().named("next").jwk()]}).to_string();
    let door = door_of(TokenSettings { jwks: Some(two), ..with_audience() }, &clock);
    assert!(door.with_token(&Signer::rs256().sign(&good_claims())).await.is(&TokenError::UnknownKey));
    assert_eq!(door.status(&rsa.sign(&good_claims())).await, 200, "its kid says which");
}

#[tokio::test]
async fn two_keys_of_one_name_are_both_tried() {
    let keys = json!({"keys": [
        Signer::other_rs256().named("k").jwk(), Signer::es256().named("k").jwk(), Signer::rs256().named("k").jwk(),
    ]});
    let settings = TokenSettings { jwks: Some(keys.to_string()), ..with_audience() };
    let door = door_of(settings, &ManualClock::default());
    for signer in [Signer::rs256(), Signer::other_rs256(), Signer::es256()] {
        assert_eq!(door.status(&signer.named("k").sign(&good_claims())).await, 200);
    }
    assert!(
        door.with_token(&Signer::eddsa().named("k").sign(&good_claims())).await.is(&TokenError::Algorithm)
    );
}

#[tokio::test]
async fn odd_but_sound_tokens_are_taken() {
    let door = door_of(inline(), &ManualClock::default());
    let [hmac, rsa, _, ed] = signers();
    let claims = |key: &str, value: Value| {
        let mut claims = good_claims();
        claims[key] = value;
        claims
    };
    for (what, token) in [
        ("expiry with a fraction", hmac.sign(&claims("exp", json!(NOW as f64 + 0.5)))),
        (
            "expiry as 1.8e9",
            hmac.sign_text(
                r#"{"alg":"HS256"}"#,
                &format!(r#"{{"iss":"{ISSUER}","aud":"{AUDIENCE}","exp":1.8e9}}"#),
            ),
        ),
        ("expired within the leeway", hmac.sign(&claims("exp", json!(NOW - 29)))),
        ("not before within the leeway", hmac.sign(&claims("nbf", json!(NOW + 30)))),
        ("issued within the leeway", hmac.sign(&claims("iat", json!(NOW + 30)))),
        ("several audiences", rsa.sign(&claims("aud", json!(["other", AUDIENCE])))),
        ("an odd subject", rsa.sign(&claims("sub", json!([{"a": 1}])))),
        ("no typ", rsa.sign_text(r#"{"alg":"RS256","kid":"rsa"}"#, &good_claims().to_string())),
        (
            "typ at+jwt",
            rsa.sign_text(r#"{"alg":"RS256","kid":"rsa","typ":"at+JWT"}"#, &good_claims().to_string()),
        ),
        ("alg Ed25519", ed.sign_text(r#"{"alg":"Ed25519","kid":"ed"}"#, &good_claims().to_string())),
        ("b64 true", hmac.sign_text(r#"{"alg":"HS256","b64":true}"#, &good_claims().to_string())),
        ("a kid nobody knows, and a secret without a name", hmac.named("k9").sign(&good_claims())),
        ("large claims", rsa.sign(&claims("groups", json!(vec!["group"; 1000])))),
    ] {
        let answered = door.with_token(&token).await;
        assert_eq!(answered.status, 200, "{what}: {}", answered.body);
    }
}

#[tokio::test]
async fn the_leeway_ends_where_it_says() {
    let clock = ManualClock::default();
    let door = door_of(TokenSettings { leeway_seconds: Some(0), ..inline() }, &clock);
    let token = Signer::hs256().sign(&json!({"iss": ISSUER, "aud": AUDIENCE, "exp": NOW + 60, "nbf": NOW}));
    assert_eq!(door.status(&token).await, 200);
    clock.rewind(Duration::from_secs(1));
    assert!(door.with_token(&token).await.is(&TokenError::NotYetValid));
    clock.advance(Duration::from_secs(60));
    assert_eq!(door.status(&token).await, 200);
    clock.advance(Duration::from_secs(1));
    assert!(door.with_token(&token).await.is(&TokenError::Expired));
    clock.rewind(Duration::from_secs(1));
    assert_eq!(door.status(&token).await, 200, "it is the clock's word, not a memory");
}

//! A source of keys with faults: down, hanging, talking nonsense, or with odd keys among the good.

use super::*;
use crate::{JWKS_COOL_DOWN_SECONDS, JWKS_MAX_AGE_SECONDS};

const COOL_DOWN: Duration = Duration::from_secs(JWKS_COOL_DOWN_SECONDS as u64);
const MAX_AGE: Duration = Duration::from_secs(JWKS_MAX_AGE_SECONDS as u64);

/// Short enough that a test of a silent source is quick; the answer is what is asserted, never the time.
fn impatient() -> TokenSettings {
    TokenSettings { jwks_timeout: Some(Duration::from_millis(200)), ..TokenSettings::default() }
}

/// Everything a source can answer that is no set.
fn faults() -> Vec<(&'static str, KeyAnswer)> {
    let elsewhere = || Some("http://127.0.0.1:9/keys".to_owned());
    let oversized = format!(r#"{{"keys":[],"x":"{}"}}"#, "x".repeat(262_144));
    vec![
        ("500", KeyAnswer::Status(500, None)),
        ("404", KeyAnswer::Status(404, None)),
        ("204", KeyAnswer::Status(204, None)),
        ("301", KeyAnswer::Status(301, elsewhere())),
        ("307", KeyAnswer::Status(307, elsewhere())),
        ("a page", KeyAnswer::Body("<html>sign in</html>".to_owned())),
        ("nothing", KeyAnswer::Body(String::new())),
        ("an array", KeyAnswer::Body("[]".to_owned())),
        ("no keys", KeyAnswer::Body("{}".to_owned())),
        ("keys that are no array", KeyAnswer::Body(r#"{"keys":{}}"#.to_owned())),
        ("keys twice", KeyAnswer::Body(r#"{"keys":[],"keys":[]}"#.to_owned())),
        ("a set cut short", KeyAnswer::Body(r#"{"keys":[{"kty":"RSA""#.to_owned())),
        ("too large", KeyAnswer::Body(oversized)),
        ("a reset", KeyAnswer::Reset),
        ("silence", KeyAnswer::Hang),
    ]
}

#[tokio::test]
async fn a_source_that_was_never_up_is_503_and_says_when_to_come_again() {
    for (fault, answer) in faults() {
        let rig = rig_with(answer, impatient());
        let (jwk, good) = named(Signer::rs256(), "k");
        for (advance, retry_after) in [(0, 30), (10, 20), (19, 1)] {
            rig.clock.advance(Duration::from_secs(advance));
            let answered = rig.door.with_token(&good).await;
            let trouble = TokenError::KeysUnavailable { retry_after_seconds: retry_after };
            assert!(answered.is(&trouble), "{fault}: {}", answered.body);
            assert_eq!(
                (answered.status, &answered.headers["retry-after"]),
                (503, &retry_after.to_string()[..].parse().unwrap())
            );
            assert!(answered.headers.get("www-authenticate").is_none());
        }
        assert_eq!(rig.jwks.fetches(), 1, "{fault}");
        assert!(
            rig.door.with_token("a.b.c").await.is(&TokenError::Malformed),
            "{fault}: that is none anyway"
        );
        rig.jwks.serve([jwk]);
        rig.clock.advance(Duration::from_secs(1));
        assert_eq!(rig.door.status(&good).await, 200, "{fault}: and it recovers");
        assert_eq!(rig.jwks.fetches(), 2, "{fault}");
    }
}

#[tokio::test]
async fn stale_keys_are_served_while_the_source_is_down() {
    for (fault, answer) in faults() {
        let (jwk, good) = named(Signer::rs256(), "k");
        let (next_jwk, next) = named(Signer::es256(), "next");
        let rig = rig_with(KeyAnswer::Keys(vec![jwk]), impatient());
        assert_eq!(rig.door.status(&good).await, 200);
        rig.jwks.answer(answer);
        for down in 1..=3 {
            rig.clock.advance(if down == 1 { MAX_AGE } else { COOL_DOWN });
            for _ in 0..3 {
                assert_eq!(rig.door.status(&good).await, 200, "{fault}");
            }
            assert!(rig.door.with_token(&next).await.is(&TokenError::UnknownKey), "{fault}: 401, not 503");
            assert_eq!(rig.jwks.fetches(), 1 + down, "{fault}: one try a cool-down");
        }
        rig.jwks.serve([next_jwk]);
        rig.clock.advance(COOL_DOWN);
        assert_eq!(rig.door.status(&next).await, 200, "{fault}");
        assert!(
            rig.door.with_token(&good).await.is(&TokenError::UnknownKey),
            "{fault}: up again, and obeyed"
        );
    }
}

#[tokio::test]
async fn a_source_nobody_listens_for_is_down() {
    let (_, good) = named(Signer::rs256(), "k");
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let settings = TokenSettings { jwks_url: Some(format!("http://{closed}/")), ..with_audience() };
    let door = door_of(settings, &ManualClock::default());
    assert_eq!(door.status(&good).await, 503);
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let (jwk, good) = named(Signer::rs256(), "k");
    let target = FakeJwks::start(KeyAnswer::Keys(vec![jwk]));
    for status in [301, 302, 303, 307, 308] {
        let rig = rig(KeyAnswer::Status(status, Some(target.url())));
        assert_eq!(rig.door.status(&good).await, 503);
        assert_eq!((rig.jwks.fetches(), target.fetches()), (1, 0));
    }
}

#[tokio::test]
async fn the_settings_own_keys_need_no_source() {
    let settings = TokenSettings { hs256_secret: Some(HS256_SECRET.into()), ..impatient() };
    let rig = rig_with(KeyAnswer::Hang, settings);
    assert_eq!(rig.door.status(&Signer::hs256().sign(&good_claims())).await, 200);
    assert!(
        rig.door.with_token(&Signer::secret(&[7; 32]).sign(&good_claims())).await.is(&TokenError::Signature)
    );
    assert_eq!(rig.jwks.fetches(), 0);
    assert_eq!(rig.door.status(&Signer::rs256().sign(&good_claims())).await, 503);
    assert_eq!(rig.jwks.fetches(), 1);
}

#[tokio::test]
async fn keys_can_be_loaded_ahead() {
    let (jwk, good) = named(Signer::rs256(), "k");
    let jwks = FakeJwks::start(KeyAnswer::Keys(vec![jwk]));
    let settings = TokenSettings { jwks_url: Some(jwks.url()), ..with_audience() };
    let verifier = settings.verifier(&registry(), Arc::new(ManualClock::default())).unwrap();
    verifier.load_keys().await;
    assert_eq!(jwks.fetches(), 1);
    assert!(verifier.verify(&good).await.is_ok());
    assert_eq!(jwks.fetches(), 1);
}

/// A key of every kind that is of no use here.
fn odd_keys() -> Vec<Value> {
    let with = |signer: Signer, changes: Value| {
        let mut jwk = signer.named("odd").jwk();
        for (name, value) in changes.as_object().unwrap() {
            jwk[name] = value.clone();
        }
        jwk
    };
    let deep = (0..100).fold(json!(1), |inner, _| json!([inner]));
    vec![
        json!(null),
        json!(7),
        json!("RSA"),
        json!({}),
        json!({"kty": "RSA"}),
        json!({"kty": "AKP", "alg": "ML-DSA-65", "pub": "AAAA"}),
        Signer::secret(&[7; 64]).named("shared").jwk(),
        with(Signer::rs256(), json!({"alg": "RS512"})),
        with(Signer::rs256(), json!({"alg": "PS256"})),
        with(Signer::rs256(), json!({"alg": "ES256"})),
        with(Signer::rs256(), json!({"alg": "HS256"})),
        with(Signer::rs256(), json!({"alg": null})),
        with(Signer::rs256(), json!({"use": "enc"})),
        with(Signer::rs256(), json!({"use": ["sig"]})),
        with(Signer::rs256(), json!({"key_ops": ["sign"]})),
        with(Signer::rs256(), json!({"key_ops": "verify"})),
        with(Signer::rs256(), json!({"d": "AQAB"})),
        with(Signer::rs256(), json!({"e": "AQ"})),
        with(Signer::rs256(), json!({"e": "Ag"})),
        with(Signer::rs256(), json!({"e": ""})),
        with(Signer::rs256(), json!({"n": "AQAB"})),
        with(Signer::rs256(), json!({"n": "no base64url!"})),
        with(Signer::rs256(), json!({"n": 7})),
        with(Signer::rs256(), json!({"kid": 7})),
        with(Signer::rs256(), json!({"kid": ""})),
        with(Signer::rs256(), json!({"x5c": deep})),
        with(Signer::es256(), json!({"crv": "P-384"})),
        with(Signer::es256(), json!({"x": "AAAA"})),
        with(Signer::es256(), json!({"y": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"})),
        with(Signer::eddsa(), json!({"crv": "X25519"})),
        with(Signer::eddsa(), json!({"x": "AAAA"})),
    ]
}

#[tokio::test]
async fn one_odd_key_never_spoils_the_set() {
    let (jwk, good) = named(Signer::rs256(), "good");
    for odd in odd_keys() {
        let rig = rig(KeyAnswer::Keys(vec![odd.clone(), jwk.clone(), odd.clone()]));
        assert_eq!(rig.door.status(&good).await, 200, "{odd}");
        for signer in [Signer::rs256(), Signer::es256(), Signer::eddsa()] {
            let token = signer.named("odd").sign(&good_claims());
            assert!(rig.door.with_token(&token).await.is(&TokenError::UnknownKey), "{odd}");
        }
    }
    let text = [r#"{"kty":"RSA","kty":"EC"}"#, r#"{"kty":"\ud800"}"#, r#"{"kty":1e400}"#, &"[".repeat(3000)];
    let closed = [
        text[0].to_owned(),
        text[1].to_owned(),
        text[2].to_owned(),
        format!("{}{}", text[3], "]".repeat(3000)),
    ];
    for odd in closed {
        let rig = rig(KeyAnswer::Body(format!(r#"{{"x":{odd},"keys":[{odd},{jwk}]}}"#)));
        assert_eq!(rig.door.status(&good).await, 200, "{}", &odd[..20]);
    }
}

#[tokio::test]
async fn a_shared_secret_in_a_set_is_nobodys_key() {
    let shared = Signer::secret(&[7; 64]).named("shared");
    let (jwk, good) = named(Signer::rs256(), "good");
    let rig = rig(KeyAnswer::Keys(vec![shared.jwk(), jwk]));
    assert_eq!(rig.door.status(&good).await, 200);
    for forged in [shared.sign(&good_claims()), Signer::secret(&[7; 64]).sign(&good_claims())] {
        assert!(rig.door.with_token(&forged).await.is(&TokenError::UnknownKey));
    }
}

#[tokio::test]
async fn a_set_is_taken_up_to_its_bound() {
    let many: Vec<Value> = (0..150).map(|n| Signer::eddsa().named(&format!("k{n}")).jwk()).collect();
    let rig = rig(KeyAnswer::Keys(many));
    for (n, status) in [(0, 200), (99, 200), (100, 401), (149, 401)] {
        let token = Signer::eddsa().named(&format!("k{n}")).sign(&good_claims());
        assert_eq!(rig.door.status(&token).await, status, "{n}");
    }
}

//! Settings that make no sense stop the start, every offender named at once.

use eventlane_testkit::tokens::{EC_PUBLIC_PEM, ED_PUBLIC_PEM, RSA_PRIVATE_PEM, RSA_PUBLIC_PEM};

use super::*;

fn offenders(settings: TokenSettings, registry: &Registry) -> Vec<String> {
    match settings.verifier(registry, Arc::new(ManualClock::default())) {
        Ok(_) => Vec::new(),
        Err(error) => error.offenders().to_vec(),
    }
}

#[test]
fn every_offender_is_named_at_once_and_no_secret_is() {
    let settings = TokenSettings {
        hs256_secret: Some("abc".into()),
        rs256_public_key: Some(include_str!("rsa_1024_public.pem").into()),
        es256_public_key: Some(ED_PUBLIC_PEM.into()),
        eddsa_public_key: Some("no PEM".into()),
        jwks: Some("[]".into()),
        jwks_url: Some("http://id.example.com/jwks".into()),
        jwks_cool_down_seconds: Some(0),
        jwks_max_age_seconds: Some(86_401),
        jwks_timeout: Some(Duration::from_secs(11)),
        issuer: Some(" ".into()),
        audiences: Vec::new(),
        audience_claim: Some("azp".into()),
        token_use: Some(String::new()),
        leeway_seconds: Some(301),
        allow_anonymous: true,
    };
    let offenders = offenders(settings, &registry());
    let text = offenders.join("\n");
    for part in [
        "3 bytes",
        "1024 bits",
        "the ES256 public key",
        "the EdDSA public key",
        "inline JWKS",
        "JWKS URL",
        "cool-down is 0 s",
        "86401 s",
        "11s",
        "issuer is set and empty",
        "audience is not set",
        "aud or client_id",
        "the audience claim is set",
        "token_use",
        "301 s",
        "issue_viewed, needs_person",
    ] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
    assert_eq!(offenders.len(), 16, "{text}");
    assert!(!text.contains("abc"), "{text}");
}

#[test]
fn without_a_key_there_is_no_start() {
    let named = offenders(TokenSettings::default(), &registry());
    assert!(named.len() == 1 && named[0].starts_with("no key"), "{named:?}");
}

#[test]
fn secrets_are_as_long_as_their_hash() {
    for (bytes, sound) in [(0, false), (3, false), (31, false), (32, true), (64, true)] {
        let settings = TokenSettings { hs256_secret: Some("x".repeat(bytes)), ..TokenSettings::default() };
        assert_eq!(offenders(settings, &registry()).is_empty(), sound, "{bytes}");
    }
}

#[test]
fn a_pem_is_a_public_key_of_its_kind() {
    let pem =
        [RSA_PUBLIC_PEM, EC_PUBLIC_PEM, ED_PUBLIC_PEM, RSA_PRIVATE_PEM, "", "-----BEGIN PUBLIC KEY-----"];
    for (kind, fitting) in [("rsa", 0), ("ec", 1), ("ed", 2)] {
        for (n, text) in pem.iter().enumerate() {
            let mut settings = TokenSettings::default();
            let place = match kind {
                "rsa" => &mut settings.rs256_public_key,
                "ec" => &mut settings.es256_public_key,
                _ => &mut settings.eddsa_public_key,
            };
            *place = Some(format!("\n{text}\n"));
            let named = offenders(settings, &registry());
            assert_eq!(named.is_empty(), n == fitting, "{kind} {n}: {named:?}");
        }
    }
}

#[test]
fn a_jwks_takes_issuer_and_audience() {
    for with in [
        TokenSettings { jwks: inline().jwks, ..TokenSettings::default() },
        TokenSettings { jwks_url: Some("https://id.example.com/jwks".into()), ..TokenSettings::default() },
        // Beside a secret too: tokens of both kinds are held to the same.
        TokenSettings {
            jwks: inline().jwks,
            hs256_secret: Some(HS256_SECRET.into()),
            ..TokenSettings::default()
        },
    ] {
        let named = offenders(with.clone(), &registry());
        assert_eq!(named.len(), 2, "{named:?}");
        let whole = TokenSettings { issuer: Some(ISSUER.into()), audiences: vec![AUDIENCE.into()], ..with };
        assert_eq!(offenders(whole, &registry()), [""; 0]);
    }
}

#[test]
fn an_inline_set_is_held_to_what_it_says() {
    let set =
        |keys: Value| TokenSettings { jwks: Some(json!({"keys": keys}).to_string()), ..with_audience() };
    let good = Signer::es256().named("k").jwk();
    let encrypts = json!({"kty": "RSA", "use": "enc", "n": "AQAB", "e": "AQAB"});
    let weak = json!({"kty": "RSA", "n": "AQAB", "e": "AQAB"});
    let mut private = Signer::eddsa().jwk();
    private["d"] = "AAAA".into();
    assert_eq!(
        offenders(set(json!([good, encrypts])), &registry()),
        [""; 0],
        "for something else: left aside"
    );
    let named = offenders(set(json!([good, weak, private])), &registry());
    assert!(named.len() == 2 && named[0].contains("key 1") && named[1].contains("key 2"), "{named:?}");
    let named = offenders(set(json!([encrypts])), &registry());
    assert!(named.len() == 2 && named[1].contains("no key that can be used"), "{named:?}");
    assert_eq!(offenders(set(json!([])), &registry()).len(), 1);
}

#[tokio::test]
async fn without_tokens_only_while_no_stream_has_an_identity() {
    let open = Registry::define([Stream::json_schema("any_thing", json!({}))]).unwrap();
    let settings = TokenSettings { allow_anonymous: true, ..TokenSettings::default() };
    assert_eq!(offenders(settings.clone(), &registry()).len(), 1);
    let clock = Arc::new(ManualClock::default());
    let keyed = TokenSettings { hs256_secret: Some(HS256_SECRET.into()), ..settings.clone() };
    for (settings, good) in [(settings, 401), (keyed, 200)] {
        let verifier = settings.verifier(&open, clock.clone()).unwrap();
        let registry = Registry::define([Stream::json_schema("any_thing", json!({}))]).unwrap();
        let door =
            door_for(verifier, Queues::default(), Arc::new(AdmitAll), registry, IngestOptions::default());
        let mut none = request(batch(&[Event::new(1, "any_thing", "1")]));
        none.headers_mut().remove("authorization");
        assert_eq!(door.ask(none).await.verdicts(), ["acked"]);
        // A token that is sent is verified all the same.
        assert_eq!(door.status(&hs256(&json!({"exp": FAR_EXPIRY}))).await, good);
        assert_eq!(door.status(&Signer::secret(&[7; 32]).sign(&good_claims())).await, 401);
        assert_eq!(door.status("").await, 401);
    }
}

//! Strangers and crowds: what they can make the door fetch.

use futures::FutureExt;
use futures::future::join_all;

use super::*;
use crate::{JWKS_COOL_DOWN_SECONDS, TokenVerifier};

const COOL_DOWN: Duration = Duration::from_secs(JWKS_COOL_DOWN_SECONDS as u64);

/// A token that nobody signed, under a key id of its own.
fn unsigned(n: usize) -> String {
    use eventlane_testkit::tokens::encode;
    let algorithm = ["RS256", "ES256", "EdDSA"][n % 3];
    let header = json!({"alg": algorithm, "kid": format!("random-{n}")});
    format!("{}.{}.{}", encode(header.to_string()), encode(good_claims().to_string()), encode([7; 256]))
}

#[tokio::test]
async fn a_thousand_random_kids_cost_one_fetch_a_cool_down() {
    let (jwk, known) = named(Signer::rs256(), "known");
    let (next_jwk, next) = named(Signer::es256(), "next");
    let rig = rig(KeyAnswer::Keys(vec![jwk.clone()]));
    assert_eq!(rig.door.status(&known).await, 200);
    for round in 1..=3 {
        rig.clock.advance(COOL_DOWN);
        for n in 0..1000 {
            assert!(rig.door.with_token(&unsigned(n)).await.is(&TokenError::UnknownKey));
            if n % 100 == 0 {
                assert_eq!(rig.door.status(&known).await, 200, "a known key works throughout");
            }
        }
        assert_eq!(rig.jwks.fetches(), 1 + round);
    }
    rig.jwks.serve([jwk, next_jwk]);
    assert!(rig.door.with_token(&next).await.is(&TokenError::UnknownKey));
    rig.clock.advance(COOL_DOWN);
    assert_eq!(rig.door.status(&next).await, 200, "a rotated key works within one cool-down");
    assert_eq!(rig.jwks.fetches(), 5);
}

#[tokio::test]
async fn an_empty_set_has_its_cool_down_too() {
    let (jwk, known) = named(Signer::rs256(), "known");
    let rig = rig(KeyAnswer::Keys(Vec::new()));
    for n in 0..1000 {
        assert!(rig.door.with_token(&unsigned(n)).await.is(&TokenError::UnknownKey));
    }
    assert_eq!(rig.jwks.fetches(), 1, "a set was loaded: it is empty, and that is 401");
    rig.jwks.serve([jwk]);
    assert!(rig.door.with_token(&known).await.is(&TokenError::UnknownKey));
    rig.clock.advance(COOL_DOWN);
    assert_eq!(rig.door.status(&known).await, 200);
    assert_eq!(rig.jwks.fetches(), 2);
}

#[tokio::test]
async fn what_can_never_be_verified_is_worth_no_fetch() {
    let rig = rig(KeyAnswer::Keys(vec![]));
    for (token, trouble) in [
        ("a.b.c".to_owned(), TokenError::Malformed),
        (Signer::hs256().named("k").sign(&good_claims()), TokenError::UnknownKey),
        (Signer::rs256().sign_text(r#"{"alg":"PS256","kid":"k"}"#, "{}"), TokenError::Algorithm),
        (Signer::rs256().sign_text(r#"{"alg":"RS256","crit":["x"]}"#, "{}"), TokenError::Header("crit")),
    ] {
        assert!(rig.door.with_token(&token).await.is(&trouble), "{trouble:?}");
    }
    assert_eq!(rig.jwks.fetches(), 0);
}

struct Crowd {
    verifier: TokenVerifier,
    jwks: FakeJwks,
    clock: ManualClock,
    token: String,
}

/// A verifier whose source keeps its answer back.
fn crowd() -> Crowd {
    let (jwk, token) = named(Signer::rs256(), "k");
    let jwks = FakeJwks::start(KeyAnswer::Keys(vec![jwk]));
    jwks.hold();
    let clock = ManualClock::default();
    let settings = TokenSettings { jwks_url: Some(jwks.url()), ..with_audience() };
    let verifier = settings.verifier(&registry(), Arc::new(clock.clone())).unwrap();
    Crowd { verifier, jwks, clock, token }
}

/// Lets the other futures of a test go on until the source was asked this often.
async fn asked(jwks: &FakeJwks, times: usize) {
    while jwks.fetches() < times {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_crowd_waits_for_one_fetch() {
    let crowd = crowd();
    let verifications = join_all((0..50).map(|_| crowd.verifier.verify(&crowd.token)));
    let release = async {
        asked(&crowd.jwks, 1).await;
        crowd.jwks.release();
    };
    let (outcomes, ()) = futures::join!(verifications, release);
    assert!(outcomes.iter().all(Result::is_ok));
    assert_eq!(crowd.jwks.fetches(), 1);
}

#[tokio::test]
async fn an_asker_that_leaves_takes_nobodys_fetch_along() {
    let crowd = crowd();
    let mut first = Box::pin(crowd.verifier.verify(&crowd.token));
    assert!((&mut first).now_or_never().is_none());
    let stays = crowd.verifier.verify(&crowd.token);
    let leaves = async {
        asked(&crowd.jwks, 1).await;
        drop(first);
        crowd.jwks.release();
    };
    let ((), outcome) = futures::join!(leaves, stays);
    assert!(outcome.is_ok());
    assert_eq!(crowd.jwks.fetches(), 1);
}

#[tokio::test]
async fn an_asker_that_leaves_alone_has_spent_the_cool_down() {
    let crowd = crowd();
    for _ in 0..100 {
        let mut gives_up = Box::pin(crowd.verifier.verify(&crowd.token));
        assert!((&mut gives_up).now_or_never().is_none() || crowd.jwks.fetches() <= 1);
    }
    crowd.jwks.release();
    let refused = crowd.verifier.verify(&crowd.token).await.unwrap_err();
    assert_eq!(refused, TokenError::KeysUnavailable { retry_after_seconds: JWKS_COOL_DOWN_SECONDS });
    crowd.clock.advance(COOL_DOWN);
    assert!(crowd.verifier.verify(&crowd.token).await.is_ok());
    assert!(crowd.jwks.fetches() <= 2, "{}", crowd.jwks.fetches());
}

#[tokio::test]
async fn while_one_refreshes_the_others_go_on_with_what_there_is() {
    let crowd = crowd();
    crowd.jwks.release();
    assert!(crowd.verifier.verify(&crowd.token).await.is_ok());
    crowd.jwks.hold();
    crowd.clock.advance(Duration::from_secs(crate::JWKS_MAX_AGE_SECONDS.into()));
    let waits = crowd.verifier.verify(&crowd.token);
    let others = async {
        asked(&crowd.jwks, 2).await;
        for _ in 0..10 {
            let at_once = crowd.verifier.verify(&crowd.token).now_or_never();
            assert!(at_once.expect("a known key waits for nothing").is_ok());
        }
        crowd.jwks.release();
    };
    let (outcome, ()) = futures::join!(waits, others);
    assert!(outcome.is_ok());
    assert_eq!(crowd.jwks.fetches(), 2);
}

//! Consent: what can be read is followed, what can't be read lets nothing in and deletes nothing.

use std::sync::Arc;

use eventlane_contracts::{StreamName, SystemClock};
use eventlane_ingest::{Admission, Gate, GateError, GatedEvent, TokenSettings};
use eventlane_testkit::tokens;
use serde_json::{Value, json};

use crate::ConsentGate;

async fn asked(metadata: Value) -> Result<Admission, GateError> {
    let settings =
        TokenSettings { hs256_secret: Some(tokens::HS256_SECRET.into()), ..TokenSettings::default() };
    let verifier = settings.verifier(&crate::registry().unwrap(), Arc::new(SystemClock)).unwrap();
    let token = tokens::hs256(&json!({"exp": tokens::FAR_EXPIRY, "app_metadata": metadata}));
    let (stream, identity) = (StreamName::new("bird_strike").unwrap(), Default::default());
    let event = GatedEvent {
        stream: &stream,
        event_id: "e",
        occurred_at_us: "1",
        identity: &identity,
        payload: "{}",
    };
    ConsentGate.admit(&verifier.verify(&token).await.unwrap(), &event).await
}

#[tokio::test]
async fn declined_streams_are_refused_and_others_admitted() {
    for metadata in
        [json!(null), json!({}), json!({"declined_streams": null}), json!({"declined_streams": ["x"]})]
    {
        assert_eq!(asked(metadata.clone()).await, Ok(Admission::Admitted), "{metadata}");
    }
    let refused = asked(json!({"declined_streams": ["x", "bird_strike"]})).await;
    assert!(matches!(refused, Ok(Admission::Refused(_))), "{refused:?}");
}

#[tokio::test]
async fn consent_that_cant_be_read_is_neither_a_yes_nor_a_no() {
    for metadata in [
        json!([1]),
        json!("x"),
        json!({"declined_streams": "bird_strike"}),
        json!({"declined_streams": [["bird_strike"]]}),
        json!({"declined_streams": ["x", 1]}),
    ] {
        assert!(asked(metadata.clone()).await.is_err(), "{metadata}");
    }
}

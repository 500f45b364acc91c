//! The document of the wire, held to the byte and to what the door does.

use std::collections::BTreeSet;
use std::path::Path;

use eventlane_contracts::limits::{BATCH_EVENTS, REASON_BYTES};

use super::*;
use crate::{Fault, TokenError, openapi, with_openapi};

fn document() -> Value {
    serde_json::from_str(&openapi()).unwrap()
}

#[test]
fn the_committed_document_is_the_one_the_code_makes() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi.json");
    eventlane_testkit::golden::golden(path, &openapi());
}

#[test]
fn every_status_a_fault_has_is_described_with_its_headers() {
    let document = document();
    let responses = document["paths"]["/api/events"]["post"]["responses"].as_object().unwrap();
    // Routes and methods are no operation's answers, but 404 is: a server without streams.
    let faults = [
        Fault::NotFound,
        Fault::Unauthorized(TokenError::Missing),
        Fault::Encoding,
        Fault::BodyTooLarge,
        Fault::TooManyEvents(1001),
        Fault::Framing(String::new()),
        Fault::Slow(30),
        Fault::Gate,
        Fault::Unavailable,
        Fault::KeysUnavailable { retry_after_seconds: 30 },
        Fault::TooManyRequests { retry_after: std::time::Duration::from_secs(1) },
        Fault::Internal,
    ];
    for fault in faults {
        let status = fault.status();
        let response = responses.get(status.as_str()).unwrap_or_else(|| panic!("{status} is not described"));
        assert_eq!(response["content"]["application/json"]["schema"]["$ref"], "#/components/schemas/Fault");
        let told = crate::answer::fault(&fault);
        let described: BTreeSet<String> = response["headers"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, _)| name.to_lowercase())
            .collect();
        let sent: BTreeSet<String> = told.headers().keys().map(ToString::to_string).collect();
        let framing = ["content-type", "connection"].map(str::to_owned);
        assert_eq!(
            sent.into_iter().filter(|name| !framing.contains(name)).collect::<BTreeSet<_>>(),
            described,
            "{status}"
        );
    }
    assert_eq!(
        responses["200"]["content"]["application/json"]["schema"]["$ref"],
        "#/components/schemas/Answer"
    );
}

#[test]
fn limits_and_verdicts_are_the_ones_the_door_keeps() {
    let schemas = &document()["components"]["schemas"];
    assert_eq!(schemas["Batch"]["properties"]["events"]["maxItems"], BATCH_EVENTS);
    assert_eq!(schemas["Batch"]["properties"]["events"]["minItems"], 1);
    assert_eq!(schemas["Ack"]["properties"]["reason"]["maxLength"], REASON_BYTES);
    assert_eq!(schemas["Envelope"]["additionalProperties"], false);
    assert_eq!(schemas["Envelope"]["required"], json!(["stream", "eventId", "occurredAtUs", "payload"]));
    let verdicts: BTreeSet<&str> = schemas["Status"]["oneOf"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["const"].as_str().unwrap())
        .collect();
    assert_eq!(verdicts, BTreeSet::from(["acked", "refused", "rejected", "deferred"]));
}

#[tokio::test]
async fn the_example_is_a_batch_the_door_takes() {
    let example =
        &document()["paths"]["/api/events"]["post"]["requestBody"]["content"]["application/json"]["example"];
    let answered = door().ask(request(example.to_string())).await;
    assert_eq!(answered.verdicts(), ["acked"]);
}

#[tokio::test]
async fn it_is_served_where_it_was_asked_for_and_nowhere_else() {
    let Door { router, queues } = door();
    let with = Door { router: with_openapi(router.clone()), queues: Arc::clone(&queues) };
    let ask =
        |method: &str| Request::builder().method(method).uri("/openapi.json").body(Body::empty()).unwrap();
    assert_eq!(with.ask(ask("GET")).await.body, document());
    let other = with.ask(ask("POST")).await;
    assert_eq!((other.status, other.headers["allow"].as_bytes()), (405, &b"GET, HEAD"[..]));
    assert_eq!(Door { router, queues }.ask(ask("GET")).await.status, 404);
}

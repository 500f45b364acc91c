//! The registry's promises: what is refused at definition, what a contract takes, what the lock says.

use crate::{Lock, PayloadFault, Registry, Stream, limits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

fn offenders(schema: Value) -> Vec<String> {
    match Registry::define([Stream::json_schema("s", schema)]) {
        Ok(_) => Vec::new(),
        Err(error) => error.offenders().to_vec(),
    }
}

#[test]
fn open_objects_at_the_root_are_refused_with_place_and_cure() {
    let closed = json!({"type": "object", "properties": {"a": {}}, "additionalProperties": false});
    let open = json!({"type": "object", "properties": {"a": {}}});
    for (schema, place) in [
        (open.clone(), "#"),
        (json!({"properties": {"a": {}}}), "#"),
        (json!({"type": ["object", "null"]}), "#"),
        (json!({"type": "object", "additionalProperties": true}), "#"),
        (json!({"type": "object", "additionalProperties": {}}), "#"),
        (json!({"anyOf": [closed, open]}), "#/anyOf/1"),
        (json!({"oneOf": [{"type": "string"}, {"$ref": "#/$defs/o"}], "$defs": {"o": open}}), "#/$defs/o"),
        (json!({"$ref": "#/$defs/o", "$defs": {"o": open}}), "#/$defs/o"),
        (json!({"allOf": [open, {"required": ["a"]}]}), "#"),
        (json!({"$ref": "#n", "$defs": {"x": {"$anchor": "n", "type": "object"}}}), "#"),
        (json!({"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}), "#"),
    ] {
        let found = offenders(schema.clone());
        assert_eq!(found.len(), 1, "{schema}: {found:?}");
        assert!(found[0].contains(&format!("object at {place} would")), "{schema}: {found:?}");
        assert!(found[0].contains("additionalProperties"), "{found:?}");
    }
}

#[test]
fn closed_objects_maps_and_other_roots_are_taken_as_they_are() {
    let closed = json!({"type": "object", "properties": {"a": {}}, "additionalProperties": false});
    for schema in [
        closed.clone(),
        json!({"type": "object", "properties": {"a": {}}, "unevaluatedProperties": false}),
        json!({"allOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}], "unevaluatedProperties": false}),
        json!({"allOf": [closed, {"required": ["a"]}]}),
        json!({"anyOf": [closed, {"type": "string"}]}),
        json!({"$ref": "#/$defs/o", "$defs": {"o": closed}}),
        json!({"type": "object", "additionalProperties": {"type": "string"}}),
        json!({"type": "object", "properties": {"deep": {"type": "object"}}, "additionalProperties": false}),
        json!({"type": "array"}),
        json!({}),
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"type": "integer"}}}),
    ] {
        assert_eq!(offenders(schema.clone()), Vec::<String>::new(), "{schema}");
    }
}

#[test]
fn bad_schemas_are_refused_at_definition_without_any_fetch() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let remote = format!("http://{}/x", listener.local_addr().unwrap());
    for schema in [
        json!({"$ref": remote}),
        json!({"$ref": "file:///etc/hostname"}),
        json!({"$ref": "#/$defs/nowhere"}),
        json!({"type": "string", "pattern": "("}),
        json!({"type": "no such type"}),
        json!({"type": "string", "format": "no-such-format"}),
        json!({"$schema": "http://json-schema.org/draft-07/schema#"}),
    ] {
        assert_eq!(offenders(schema.clone()).len(), 1, "{schema}");
    }
    assert_eq!(listener.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock, "nobody may call");
}

#[test]
fn every_offender_is_named_in_one_error() {
    let any = || json!({"type": "string"});
    let error = Registry::define([
        Stream::json_schema("Bad Name", any()),
        Stream::json_schema("open", json!({"type": "object"})),
        Stream::json_schema("twice", any()),
        Stream::json_schema("twice", any()),
        Stream::json_schema("nameless", any()).identity(" ", ["sub"]),
        Stream::json_schema("pathless", any()).identity("who", [""]),
        Stream::json_schema("zeroth", any()).revision(0),
    ])
    .unwrap_err();
    let text = error.to_string();
    for part in ["\"Bad Name\"", "stream open", "twice", "nameless", "pathless", "zeroth"] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
    assert_eq!(error.offenders().len(), 6);
}

#[test]
fn no_streams_is_a_legal_registry() {
    assert!(Registry::define([]).unwrap().is_empty());
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Outer {
    inner: Inner,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Inner {
    a: u8,
}

#[test]
fn a_typed_contract_must_be_strict_at_every_level() {
    let error = Registry::define([Stream::typed::<Outer>("s")]).unwrap_err();
    assert_eq!(error.offenders().len(), 1, "{error}");
    assert!(error.to_string().contains("#/$defs/Inner"), "{error}");
    assert!(error.to_string().contains("deny_unknown_fields"), "{error}");
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Grade {
    #[schemars(range(min = 1, max = 4))]
    grade: u8,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    #[serde(default)]
    kind: Kind,
    #[serde(default)]
    by: std::collections::BTreeMap<String, Value>,
}

#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "is", deny_unknown_fields, rename_all = "snake_case")]
enum Kind {
    #[default]
    Plain,
    Timed {
        ms: u32,
    },
}

#[test]
fn a_typed_contract_normalises_and_keeps_the_senders_text_apart() {
    let registry = Registry::define([Stream::typed::<Grade>("s")]).unwrap();
    let checked = registry.stream("s").unwrap().check(r#"{ "note" : "\u00e9" , "grade" : 3 }"#);
    let checked = checked.unwrap();
    assert_eq!(checked.stored, r#"{"note":"\u00e9","grade":3}"#);
    assert_eq!(checked.output, r#"{"grade":3,"note":"é","kind":{"is":"plain"},"by":{}}"#);
}

#[test]
fn a_refusal_names_place_and_rule_but_no_value() {
    let registry = Registry::define([
        Stream::typed::<Grade>("typed"),
        Stream::json_schema(
            "schema",
            json!({"type": "object", "additionalProperties": false, "properties": {
                "id": {"type": "string", "format": "uuid"},
                "n": {"type": "integer", "maximum": 4}
            }}),
        ),
    ])
    .unwrap();
    for (stream, payload, place) in [
        ("typed", r#"{"grade":"s3cret"}"#, "/grade"),
        ("typed", r#"{"grade":3,"s3cret":1}"#, ""),
        ("typed", r#"{}"#, ""),
        ("schema", r#"{"id":"s3cret"}"#, "/id"),
        ("schema", r#"{"n":7777}"#, "/n"),
        ("schema", r#"{"s3cret":1}"#, ""),
    ] {
        let fault = registry.stream(stream).unwrap().check(payload).unwrap_err();
        let PayloadFault::Invalid { place: found, .. } = &fault else { panic!("{fault:?}") };
        assert_eq!(found, place, "{payload}");
        let reason = fault.reason();
        assert!(!reason.contains("s3cret") && !reason.contains("7777"), "{reason}");
        assert!(reason.len() <= limits::REASON_BYTES);
    }
}

#[test]
fn size_is_one_definition_for_client_and_server() {
    let registry = Registry::define([Stream::json_schema("s", json!({"type": "string"}))]).unwrap();
    let stream = registry.stream("s").unwrap();
    let text = |bytes: usize| format!("\"{}\"", "é".repeat((bytes - 2) / 2));
    assert!(stream.check(&text(limits::PAYLOAD_BYTES)).is_ok());
    assert_eq!(
        stream.check(&text(limits::PAYLOAD_BYTES + 2)),
        Err(PayloadFault::TooLarge { actual: limits::PAYLOAD_BYTES + 2 })
    );
    let escaped = format!("\"{}\"", "\\u00e9".repeat(limits::PAYLOAD_BYTES / 6 + 1));
    assert!(matches!(stream.check(&escaped), Err(PayloadFault::TooLarge { .. })), "escapes count as sent");
}

#[test]
fn numbers_reach_the_consumer_of_a_schema_stream_literally() {
    let registry = Registry::define([Stream::json_schema("s", json!({"type": "array"}))]).unwrap();
    let text = r#"[ 1.10, 1E2, -0.0, 12345678901234567890123 ]"#;
    let checked = registry.stream("s").unwrap().check(text).unwrap();
    assert_eq!(checked.output, "[1.10,1E2,-0.0,12345678901234567890123]");
}

#[test]
fn the_lock_does_not_depend_on_key_order_and_does_on_content() {
    let lock = |schema: &str, revision: Option<u32>| {
        let stream = Stream::json_schema("s", serde_json::from_str(schema).unwrap()).identity("a", ["sub"]);
        let stream = match revision {
            Some(revision) => stream.revision(revision),
            None => stream,
        };
        Lock::of(&Registry::define([stream]).unwrap())
    };
    let one = lock(r#"{"type":"string","maxLength":3}"#, None);
    assert_eq!(one, lock(r#"{"maxLength":3,"type":"string"}"#, None));
    let hash = |lock: &Lock| lock.streams["s"].hash.clone();
    assert_ne!(hash(&one), hash(&lock(r#"{"type":"string","maxLength":4}"#, None)));
    assert_ne!(hash(&one), hash(&lock(r#"{"type":"string","maxLength":3}"#, Some(1))));
    assert_eq!(one.to_text(), serde_json::from_str::<Lock>(&one.to_text()).unwrap().to_text());
}

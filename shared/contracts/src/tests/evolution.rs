//! How a lock is read, what a diff says, and how a check is told.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::evolution::{Change, Check, Diff, Grade, Outcome, blind_spots, explain, export};
use crate::{LOCK_FORMAT, Lock, LockError, LockedStream, Registry, Stream, StreamDefinition, Verdict};

fn golden(name: &str, actual: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/tests/golden").join(name);
    eventlane_testkit::golden(path, actual);
}

fn object(properties: Value, required: &[&str]) -> Value {
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

fn stream(name: &str, payload: Value) -> StreamDefinition {
    Stream::json_schema(name, payload).identity("who", ["sub"])
}

fn before() -> Registry {
    let note =
        |name: &str| stream(name, object(json!({"note": {"type": "string", "maxLength": 100}}), &["note"]));
    Registry::define([
        note("gone"),
        note("identified"),
        note("kept"),
        note("narrowed"),
        note("remarked"),
        note("revised"),
        note("unknown"),
        note("widened"),
    ])
    .unwrap()
}

fn after() -> Registry {
    let note = |limit: u32| object(json!({"note": {"type": "string", "maxLength": limit}}), &["note"]);
    let mut remarked = note(100);
    remarked["title"] = json!("A note");
    let unknown =
        object(json!({"note": {"type": "string", "pattern": "^(.|\\s){0,100}(.|\\s)*$"}}), &["note"]);
    Registry::define([
        stream("added", note(100)),
        Stream::json_schema("identified", note(100)).identity("who", ["app_metadata", "person_id"]),
        stream("kept", note(100)),
        stream("narrowed", note(3)),
        stream("remarked", remarked),
        stream("revised", note(100)).revision(2),
        stream("unknown", unknown),
        stream("widened", note(200)),
        Stream::typed::<Visit>("visit"),
    ])
    .unwrap()
}

/// A visit to a page.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Visit {
    /// The page's path.
    page: Path,
    seconds: Option<u16>,
}

/// A type that refuses more than its schema says.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
struct Path(String);

impl TryFrom<String> for Path {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        if text.starts_with('/') { Ok(Self(text)) } else { Err("a path starts with a slash") }
    }
}

/// A type that refuses nothing that its schema takes.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Plain {
    id: uuid::Uuid,
    small: i8,
    large: u64,
    share: f32,
    letter: char,
    mood: Mood,
    next: Option<Box<Plain>>,
    tags: BTreeMap<String, Vec<(i64, bool)>>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Mood {
    Fine,
    Rated(u8),
}

#[test]
fn a_lock_is_written_as_its_golden_file_says() {
    golden("lock.json", &Lock::of(&after()).to_text());
}

#[test]
fn a_lock_reads_back_and_key_order_never_matters() {
    let lock = Lock::of(&before());
    assert_eq!(Lock::parse(&lock.to_text()), Ok(lock.clone()));
    let mut value: Value = serde_json::from_str(&lock.to_text()).unwrap();
    let streams = value["streams"].take();
    let reordered = format!(r#"{{"streams":{streams},"format":1}}"#);
    assert_eq!(Lock::parse(&reordered), Ok(lock));
}

#[test]
fn what_is_no_lock_is_told_apart() {
    let text = Lock::of(&before()).to_text();
    assert_eq!(Lock::parse("{\n  \"format\": 1,,"), Err(LockError::NotJson { line: 2, column: 15 }));
    assert_eq!(Lock::parse("[]"), Err(LockError::NoFormat));
    assert_eq!(Lock::parse("{\"streams\":{}}"), Err(LockError::NoFormat));
    let newer = format!(r#"{{"format":{},"fleets":[]}}"#, LOCK_FORMAT.0 + 1);
    assert_eq!(Lock::parse(&newer), Err(LockError::Format { found: 2 }), "the format comes first");
    assert!(matches!(Lock::parse(r#"{"format":1,"fleets":[]}"#), Err(LockError::Shape(_))));
    let edited = text.replacen("100", "101", 1);
    assert_eq!(Lock::parse(&edited), Err(LockError::Hash(vec!["gone".into()])));
    for error in [LockError::NoFormat, LockError::Format { found: 2 }, LockError::Hash(vec!["a".into()])] {
        assert_eq!(error.to_string().lines().count(), 1);
    }
}

#[test]
fn every_kind_of_change_has_its_grade() {
    let diff = Diff::between(&Lock::of(&before()), &Lock::of(&after()));
    let grades: Vec<(&str, &str)> =
        diff.changes.iter().map(|(name, change)| (name.as_str(), change.grade().tag())).collect();
    assert_eq!(
        grades,
        [
            ("added", "compatible"),
            ("gone", "breaking"),
            ("identified", "risky"),
            ("narrowed", "breaking"),
            ("remarked", "compatible"),
            ("revised", "risky"),
            ("unknown", "risky"),
            ("visit", "compatible"),
            ("widened", "compatible"),
        ]
    );
    assert_eq!(diff.grade(), Grade::Breaking);
    assert!(Diff::between(&Lock::of(&before()), &Lock::of(&before())).is_empty());
}

#[test]
fn the_worst_part_of_a_change_is_its_grade() {
    let locked = |limit: u32, revision| {
        LockedStream::new(json!({"type": "string", "maxLength": limit}), BTreeMap::new(), revision)
    };
    let grade = |old: LockedStream, new: LockedStream| {
        let lock = |stream| Lock { format: LOCK_FORMAT, streams: BTreeMap::from([("s".to_owned(), stream)]) };
        let diff = Diff::between(&lock(old), &lock(new));
        if let Some(Change::Changed { payload: Some(Verdict::Narrowed { counter_example }), .. }) =
            diff.changes.get("s")
        {
            assert_eq!(counter_example, &json!("aaaaa"));
        }
        diff.grade()
    };
    assert_eq!(grade(locked(5, None), locked(6, None)), Grade::Compatible);
    assert_eq!(grade(locked(5, None), locked(6, Some(1))), Grade::Risky);
    assert_eq!(grade(locked(5, Some(1)), locked(4, Some(2))), Grade::Breaking);
}

#[test]
fn a_check_is_told_as_its_golden_files_say() {
    let (old, code) = (Lock::of(&before()), after());
    let check = Check::run(&code, &Lock::of(&code), Some(&old));
    assert_eq!(check.outcome(), Outcome::Breaking);
    golden("check.txt", &check.to_text("streams.lock.json", "git:main"));
    golden("check.json", &format!("{:#}\n", check.to_json()));
    golden("check.github.txt", &check.to_github("streams.lock.json", "git:main"));
}

#[test]
fn a_stale_lock_is_told_as_its_golden_file_says() {
    let check = Check::run(&after(), &Lock::of(&before()), None);
    assert_eq!(check.outcome(), Outcome::Stale);
    golden("stale.txt", &check.to_text("streams.lock.json", ""));
}

#[test]
fn an_outcome_has_its_exit_code() {
    let (old, new) = (Lock::of(&before()), Lock::of(&after()));
    let code =
        |lock: &Lock, against: Option<&Lock>| Check::run(&after(), lock, against).outcome().exit_code();
    assert_eq!(code(&new, None), 0);
    assert_eq!(code(&new, Some(&new)), 0);
    assert_eq!(code(&old, None), 3);
    assert_eq!(code(&new, Some(&old)), 4);
    assert_eq!(code(&old, Some(&old)), 4, "what breaks outweighs what is stale");
}

#[test]
fn a_type_that_refuses_more_than_its_schema_says_is_found() {
    let registry = Registry::define([
        Stream::typed::<Visit>("visit"),
        Stream::typed::<Visit>("revised").revision(3),
        Stream::typed::<Plain>("plain"),
        Stream::json_schema("schema", json!({"type": "string"})),
    ])
    .unwrap();
    let spots = blind_spots(&registry);
    let found: Vec<(&str, Option<u32>)> =
        spots.iter().map(|spot| (spot.stream.as_str(), spot.revision)).collect();
    assert_eq!(found, [("revised", Some(3)), ("visit", None)], "{spots:?}");
    for spot in &spots {
        let stream = registry.stream(&spot.stream).unwrap();
        assert!(stream.check(&spot.example.to_string()).is_err());
        assert!(super::judge::takes(stream.schema(), &spot.example));
    }
}

#[test]
fn an_explanation_is_as_its_golden_file_says() {
    let registry = Registry::define([
        Stream::typed::<Plain>("plain").identity("who", ["sub"]).revision(1),
        Stream::typed::<Visit>("visit"),
        Stream::json_schema(
            "reading_taken",
            json!({
                "title": "A reading",
                "oneOf": [
                    object(json!({"is": {"const": "text"}, "code": {"type": "string", "pattern": "^[A-Z]{2}-\\d+$"}}), &["is"]),
                    object(json!({"is": {"const": "number"}, "values": {
                        "type": "array", "items": {"type": "number", "exclusiveMinimum": 0}, "uniqueItems": true
                    }}), &["is", "values"]),
                ]
            }),
        ),
    ])
    .unwrap();
    let texts: Vec<String> = registry.streams().map(explain).collect();
    golden("explain.txt", &texts.join("\n"));
}

#[test]
fn an_export_is_one_schema_a_stream_that_says_what_it_is() {
    let lock = Lock::of(
        &Registry::define([
            Stream::json_schema("text", json!({"type": "string"})),
            Stream::json_schema("any", json!(true)),
        ])
        .unwrap(),
    );
    let files = export(&lock);
    assert_eq!(
        files.iter().map(|file| file.file.as_str()).collect::<Vec<_>>(),
        ["any.schema.json", "text.schema.json"]
    );
    let schema: Value = serde_json::from_str(&files[1].text).unwrap();
    let draft = "https://json-schema.org/draft/2020-12/schema";
    assert_eq!(schema, json!({"$schema": draft, "title": "text", "type": "string"}));
}

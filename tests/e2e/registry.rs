//! A change of the streams is told before it is deployed: `eventlane registry`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use eventlane_contracts::{Lock, LockedStream};
use serde_json::{Value, json};

use crate::support::eventlane;

fn registry(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = eventlane(&["registry"]);
    command.args(arguments).current_dir(folder).output().unwrap()
}

fn ends(output: &Output, code: i32) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{stdout}{stderr}");
    assert_eq!(stderr.lines().count(), usize::from(code != 0), "{stderr}");
    (stdout, stderr)
}

/// The code's own lock with something changed.
fn changed(change: impl FnOnce(&mut Lock)) -> String {
    let mut lock = Lock::of(&eventlane_lane::registry().unwrap());
    change(&mut lock);
    lock.to_text()
}

/// As if `grade` had gone up to 9 once: the code's contract takes less.
fn wider() -> String {
    changed(|lock| {
        let graded = &lock.streams["review_graded"];
        let mut payload = graded.payload.clone();
        payload["properties"]["grade"]["maximum"] = json!(9);
        let graded = LockedStream::new(payload, graded.identity.clone(), None);
        lock.streams.insert("review_graded".to_owned(), graded);
    })
}

fn git(folder: &Path, arguments: &[&str]) {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=t", "-c", "user.email=t@example.com"]).args(arguments);
    let output = command.current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_lock_of_this_repository_is_fine_and_the_deploy_order_is_told() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let (text, _) = ends(&registry(&root, &["check"]), 0);
    assert!(text.contains("up to date") && text.contains("ingest first, clients second"), "{text}");
}

#[test]
fn a_lock_is_written_checked_and_refused_where_it_breaks() {
    let folder = tempfile::tempdir().unwrap();
    let (folder, lock) = (folder.path(), folder.path().join("streams.lock.json"));
    let (_, error) = ends(&registry(folder, &["check"]), 1);
    assert!(error.contains("streams.lock.json") && error.contains("registry lock"), "{error}");
    ends(&registry(folder, &["lock"]), 0);
    assert_eq!(std::fs::read_to_string(&lock).unwrap(), changed(|_| ()));
    ends(&registry(folder, &["check"]), 0);

    std::fs::write(&lock, wider()).unwrap();
    let (text, error) = ends(&registry(folder, &["check"]), 3);
    assert!(text.contains("review_graded: payload narrowed") && error.contains("stale"), "{text}{error}");
    let (_, error) = ends(&registry(folder, &["lock"]), 4);
    assert!(error.contains("--accept-breaking"), "{error}");
    assert_eq!(std::fs::read_to_string(&lock).unwrap(), wider(), "a refusal leaves the file alone");
    ends(&registry(folder, &["lock", "--accept-breaking"]), 0);
    ends(&registry(folder, &["check"]), 0);
}

#[test]
fn an_older_lock_comes_from_a_file_or_from_git() {
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("inner");
    std::fs::create_dir(&inner).unwrap();
    let lock = inner.join("streams.lock.json");
    std::fs::write(&lock, wider()).unwrap();
    git(folder.path(), &["init", "-q"]);
    git(folder.path(), &["add", "."]);
    git(folder.path(), &["commit", "-q", "-m", "old"]);
    std::fs::write(&lock, changed(|_| ())).unwrap();
    std::fs::write(inner.join("old.json"), wider()).unwrap();

    for source in ["git:HEAD", "old.json"] {
        let (text, error) = ends(&registry(&inner, &["check", "--against", source]), 4);
        assert!(text.contains("breaking   review_graded: payload narrowed: {"), "{text}");
        assert!(error.contains(source), "{error}");
    }
    let (text, _) = ends(&registry(&inner, &["check", "--json", "--against", "git:HEAD"]), 4);
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(report["outcome"], "breaking");
    let change = &report["against"]["changes"][0];
    let grade = change["payload"]["counter_example"]["grade"].as_u64().unwrap();
    assert!((5..=9).contains(&grade), "{report}");
    let (text, _) = ends(&registry(&inner, &["check", "--github", "--against", "git:HEAD"]), 4);
    assert!(text.starts_with("::error file=streams.lock.json,title=review_graded"), "{text}");

    for (source, part) in [
        ("git:nowhere", "nowhere"),
        ("git:", "names no commit"),
        ("git:--help", "names no commit"),
        ("no.json", "no.json"),
    ] {
        let (_, error) = ends(&registry(&inner, &["check", "--against", source]), 1);
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn a_file_that_is_no_lock_is_told_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    let lock = folder.path().join("l.json");
    let newer = r#"{"format":2,"streams":{}}"#.to_owned();
    let edited = wider().replacen("\"maximum\": 9,", "\"maximum\": 8,", 1);
    for (text, part) in [("{".to_owned(), "not JSON"), (newer, "format 2"), (edited, "review_graded")] {
        std::fs::write(&lock, &text).unwrap();
        for command in ["check", "lock"] {
            let (_, error) = ends(&registry(folder.path(), &[command, "--lock", "l.json"]), 1);
            assert!(error.contains("l.json") && error.contains(part), "{error}");
        }
        assert_eq!(std::fs::read_to_string(&lock).unwrap(), text);
    }
}

#[test]
fn contracts_are_handed_on_to_people_and_generators() {
    let folder = tempfile::tempdir().unwrap();
    let (text, _) = ends(&registry(folder.path(), &["export", "--dir", "a/b"]), 0);
    assert_eq!(text.lines().count(), 4, "{text}");
    let schema = std::fs::read_to_string(folder.path().join("a/b/earthquake.schema.json")).unwrap();
    let schema: Value = serde_json::from_str(&schema).unwrap();
    assert_eq!(schema["properties"]["tsunami"]["maximum"], 1);
    let (text, _) = ends(&registry(folder.path(), &["explain", "review_graded"]), 0);
    for part in ["learnerId, from the claim app_metadata.person_id", "at least 1, at most 4", "\"grade\": "] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
    let (_, error) = ends(&registry(folder.path(), &["explain", "nobody"]), 1);
    assert!(error.contains("nobody") && error.contains("bird_strike"), "{error}");
}

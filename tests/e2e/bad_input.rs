//! Bad input to a command is one clear line on stderr and a non-zero exit.

use std::process::{Command, Output};

use eventlane_testkit::process::Process;

use crate::support::{PATIENCE, eventlane};

fn line(mut command: Command) -> String {
    let output = command.output().unwrap();
    one_line(&output)
}

fn one_line(output: &Output) -> String {
    assert!(!output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let text = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(text.starts_with("eventlane: "), "{text}");
    text
}

fn says(arguments: &[&str], parts: &[&str]) {
    let text = line(eventlane(arguments));
    for part in parts {
        assert!(text.contains(part), "{part} is missing in: {text}");
    }
}

#[test]
fn of_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let data = data.to_str().unwrap();
    let file = |name: &str, text: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (short, empty, plain) = (file("short", b"abc\n"), file("empty", b"\n"), file("plain", b"x"));
    let lines = file("lines", b"\"x\"\n");
    let url = "http://127.0.0.1:9/api/events";

    says(&["up", "--listen", "0.0.0.0:0", "--data", data], &["0.0.0.0:0", "--hs256-secret-file"]);
    says(&["up", "--data", &plain], &["plain", "data folder"]);
    says(&["up", "--data", data, "--hs256-secret-file", &short], &["3 bytes", "32"]);
    says(&["up", "--data", data, "--visibility-seconds", "0"], &["visibility", "1000"]);
    says(&["token", "--sub", "u", "--claims", "[1]", "--data", data], &["--claims", "JSON object"]);
    says(&["token", "--sub", " ", "--data", data], &["--sub"]);
    says(&["token", "--sub", "u", "--hs256-secret-file", &empty], &["empty"]);
    says(&["token", "--sub", "u", "--hs256-secret-file", "/no/such"], &["/no/such"]);

    says(&["send", "--data", data, "--stream", "nobody", &lines], &["nobody", "bird_strike"]);
    says(&["send", "--data", data, "--stream", "earthquake", "/no/such"], &["/no/such"]);
    says(
        &["send", "--data", data, "--stream", "earthquake", folder.path().to_str().unwrap()],
        &["is a folder"],
    );
    says(
        &["send", "--data", data, "--stream", "earthquake", "--url", "http://example.com/api/events", &lines],
        &["http", "loopback"],
    );
    says(
        &["send", "--data", data, "--stream", "earthquake", "--url", "https://example.com/other", &lines],
        &["/api/events"],
    );
    says(
        &["send", "--data", data, "--stream", "earthquake", "--outbox", "/no/such/o.db", &lines],
        &["/no/such/o.db"],
    );
    says(
        &["send", "--data", data, "--stream", "earthquake", "--url", url, &lines],
        &["1 of 1 lines", "line 1", "object"],
    );
}

#[test]
fn a_server_that_is_away_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("issue.jsonl");
    std::fs::write(&file, r#"{"issueId":"b48b36ee-0d62-4382-8f6b-17f0b6b3bd77"}"#).unwrap();
    let data = folder.path().to_str().unwrap();
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("http://{closed}/api/events");
    let arguments =
        ["send", "--data", data, "--stream", "issue_viewed", "--url", &url, file.to_str().unwrap()];
    let text = line(eventlane(&arguments));
    assert!(text.contains("1 events wait in") && text.contains("outbox.db"), "{text}");
}

#[test]
fn a_port_that_is_taken_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    says(&["up", "--listen", &address, "--data", folder.path().to_str().unwrap()], &[&address]);
}

#[test]
fn a_wrong_command_line_is_told_by_name() {
    for arguments in
        [&["demo", "--jsn"][..], &["send", "--stream", "x"], &["token"], &["up", "--listen", "nine"]]
    {
        let output = eventlane(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("error: "), "{arguments:?}");
    }
}

#[test]
fn up_stops_when_it_is_asked_to() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["up", "--listen", "127.0.0.1:0", "--data", folder.path().to_str().unwrap()];
    let mut process = Process::start(&mut eventlane(&arguments));
    process.line_with("listening on", PATIENCE);
    process.terminate();
    let ended = process.wait(PATIENCE);
    assert!(ended.status.success(), "{}", ended.stderr);
}

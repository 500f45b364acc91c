//! Bad input to a command is one clear line on stderr and a non-zero exit.

use std::process::{Command, Output};

use crate::support::embedded::Embedded;
use crate::support::{Lane, eventlane, send};

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
fn a_bad_line_doesnt_stop_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    let lane = Embedded::start(folder.path(), &[]);
    let good = r#"{"issueId":"b48b36ee-0d62-4382-8f6b-17f0b6b3bd77"}"#;
    let file = folder.path().join("lines.jsonl");
    let mut lines = format!("{good}\r\n\n{{\"issueId\":1}}\n{good}\n").into_bytes();
    lines.extend(b"\xff\n");
    lines.extend(vec![b'x'; 3_000_000]);
    lines.extend(format!("\n{good}").bytes());
    std::fs::write(&file, lines).unwrap();
    let output = send(&lane, folder.path(), "issue_viewed", &file);
    let text = one_line(&output);
    assert!(text.contains("3 of 6 lines not appended; line 3: "), "{text}");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(said.trim(), "3 appended; 3 acked, 0 refused, 0 rejected, 0 deferred");
    assert_eq!(lane.archived().len(), 3);
}

#[test]
fn a_token_that_can_be_none_is_told_before_anything_is_sent() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("none.jsonl");
    std::fs::write(&file, "").unwrap();
    let arguments = ["send", "--data", folder.path().to_str().unwrap(), "--stream", "issue_viewed"];
    let mut command = eventlane(&[&arguments[..], &[file.to_str().unwrap()]].concat());
    command.env("EVENTLANE_TOKEN", "s3cret\nword");
    let text = line(command);
    assert!(text.contains("EVENTLANE_TOKEN is no token") && !text.contains("s3cret"), "{text}");
}

#[test]
fn a_stdout_that_cant_be_written_is_an_error_and_one_that_nobody_reads_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["token", "--sub", "u", "--data", folder.path().to_str().unwrap()];
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = eventlane(&arguments);
    command.stdout(full);
    let output = command.spawn().unwrap().wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = eventlane(&arguments);
    command.stdout(writer);
    assert!(command.status().unwrap().success());
}

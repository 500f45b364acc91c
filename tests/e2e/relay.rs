//! A service's outbox, by the command alone: made, filled by the service's own SQL, brought into the
//! archive of a lane, its dead rows replayed, its loop ended by a signal.

use std::path::Path;
use std::process::Output;

use eventlane_testkit::process::Process;
use rusqlite::Connection;
use serde_json::Value;

use crate::support::embedded::Embedded;
use crate::support::{Lane, PATIENCE, eventlane, wait_until};

/// An item viewed, as a service writes it.
fn viewed(user: &str) -> String {
    format!(
        r#"{{"identity":{{"viewerId":"{user}"}},"payload":{{"issueId":"b48b36ee-0d62-4382-8f6b-17f0b6b3bd77"}}}}"#
    )
}

/// The statement that docs and `relay migrate --print` promise to other languages.
fn write(database: &Connection, id: &str, topic: &str, payload: &str) {
    let insert = "INSERT INTO eventlane_relay_outbox (id, topic, payload) VALUES (?1, ?2, ?3)";
    database.execute(insert, [id, topic, payload]).unwrap();
}

fn relay(database: &Path, arguments: &[&str]) -> Output {
    let url = format!("sqlite:{}", database.display());
    eventlane(&[&["relay"], arguments].concat()).env("EVENTLANE_RELAY_URL", url).output().unwrap()
}

fn told(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap().trim().to_owned()
}

#[test]
fn what_a_service_commits_reaches_the_archive_and_a_dead_row_after_its_replay() {
    let folder = tempfile::tempdir().unwrap();
    let (data, path) = (folder.path().join("lane"), folder.path().join("service.db"));
    let lane = Embedded::start(&data, &[]);
    let database = Connection::open(&path).unwrap();
    database.busy_timeout(PATIENCE).unwrap();
    told(&relay(&path, &["migrate"]));
    told(&relay(&path, &["migrate"]));

    let ids = [1, 2, 3].map(|n| format!("0197f0a0-0000-7000-8000-00000000000{n}"));
    write(&database, &ids[0], "issue.viewed", &viewed("u1"));
    write(&database, &ids[1], "issue.viewed", "not the lane's shape: s3cret");
    let status: Value = serde_json::from_str(&told(&relay(&path, &["status", "--json"]))).unwrap();
    assert_eq!((&status["pending"], &status["dead"]), (&2.into(), &0.into()));

    let data = data.to_str().unwrap();
    let run = ["run", "--topic", "issue.viewed=issue_viewed", "--data", data];
    let report: Value =
        serde_json::from_str(&told(&relay(&path, &[&run[..], &["--once"]].concat()))).unwrap();
    assert_eq!(
        (&report["claimed"], &report["delivered"], &report["dead"]),
        (&2.into(), &1.into(), &1.into())
    );
    wait_until("the event in the archive", || lane.archive().len() == 1);
    assert_eq!(lane.archive()[0].event_id, ids[0]);

    let listed = told(&relay(&path, &["dead", "list", "--json"]));
    let row: Value = serde_json::from_str(&listed).unwrap();
    assert_eq!((&row["id"], &row["topic"]), (&ids[1].as_str().into(), &"issue.viewed".into()));
    assert!(!listed.contains("s3cret"), "{listed}");
    // The cause is mended, then the row is replayed by its name.
    let mend = "UPDATE eventlane_relay_outbox SET payload = ?1 WHERE id = ?2";
    database.execute(mend, [viewed("u2"), ids[1].clone()]).unwrap();
    assert!(told(&relay(&path, &["dead", "replay", &ids[1]])).starts_with("would replay 1"));
    assert!(told(&relay(&path, &["status"])).ends_with("dead 1"), "a dry run changes nothing");
    assert_eq!(told(&relay(&path, &["dead", "replay", &ids[1], "--yes"])), "replayed 1 dead rows");
    let again = relay(&path, &["dead", "replay", &ids[1], "--yes"]);
    assert_eq!(again.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&again.stderr).contains(&ids[1]));

    // The hosted loop takes what is there and what comes, and ends by a signal.
    let url = format!("sqlite:{}", path.display());
    let mut command = eventlane(&[&["relay"], &run[..]].concat());
    let mut process = Process::start(command.env("EVENTLANE_RELAY_URL", url));
    process.line_with("relaying", PATIENCE);
    write(&database, &ids[2], "issue.viewed", &viewed("u3"));
    wait_until("all three in the archive", || lane.archive().len() == 3);
    process.terminate();
    let ended = process.wait(PATIENCE);
    assert!(ended.status.success(), "{}", ended.stderr);

    assert!(told(&relay(&path, &["migrate", "--down"])).starts_with("would drop"));
    write(&database, "0197f0a0-0000-7000-8000-000000000004", "t", "p");
    let refused = relay(&path, &["migrate", "--down", "--yes"]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("1 pending and 0 dead rows would be lost"));
    told(&relay(&path, &["migrate", "--down", "--yes", "--force"]));
    assert_eq!(lane.archived().len(), 3);
}

#[test]
fn a_database_that_is_none_is_one_line_without_its_password() {
    for url in ["postgres://u:s3cret@127.0.0.1:1/d", "oracle://u:s3cret@h/d", "sqlite:/nonexistent/s3cret.db"]
    {
        let output = eventlane(&["relay", "status"]).env("EVENTLANE_RELAY_URL", url).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), text.lines().count()), (Some(1), 1), "{text}");
        assert!(!text.contains("s3cret"), "{text}");
    }
}

#[test]
fn a_dialects_migration_is_printed_without_a_database() {
    for (dialect, word) in
        [("sqlserver", "DATETIMEOFFSET(3)"), ("singlestore", "ROWSTORE"), ("mariadb", "InnoDB")]
    {
        let output = eventlane(&["relay", "migrate", "--print", dialect]).output().unwrap();
        assert!(told(&output).contains(word));
    }
}

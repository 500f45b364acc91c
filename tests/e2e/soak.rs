//! The soak in small: two drains and a runner, killed at counted points. The large one is
//! `cargo xtask soak delivery`.

use std::path::Path;
use std::process::Command;

use eventlane_testkit::process::Process;
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;

use crate::support::{PATIENCE, eventlane, wait_until};

const EVENTS: u64 = 3_000;

fn soak(action: &str, data: &Path) -> Command {
    let mut command = eventlane(&["soak", action, "--data"]);
    command.arg(data).args(["--events", &EVENTS.to_string()]);
    command
}

fn archived(data: &Path) -> u64 {
    let archive = Connection::open_with_flags(data.join("archive.db"), OpenFlags::SQLITE_OPEN_READ_ONLY);
    let Ok(archive) = archive else { return 0 };
    archive.busy_timeout(PATIENCE).unwrap();
    archive.query_row("SELECT count(*) FROM events", [], |row| row.get(0)).unwrap_or(0)
}

#[test]
fn nothing_is_lost_when_drains_and_a_runner_are_killed() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    assert!(soak("fill", data).status().unwrap().success());
    let start = |host: &str| {
        let mut worker = Process::start(soak("work", data).args(["--host", host]));
        worker.line_with("working", PATIENCE);
        worker
    };
    let mut workers = ["drain", "drain", "runner"].map(|host| (host, start(host)));
    for (round, point) in [200, 600, 1_000, 1_400, 1_800, 2_200].into_iter().enumerate() {
        wait_until("the next point", || archived(data) >= point);
        let (host, worker) = &mut workers[round % 3];
        worker.kill();
        *worker = start(host);
    }
    wait_until("empty queues", || {
        let left = soak("left", data).output().unwrap().stdout;
        String::from_utf8(left).unwrap().trim() == "0"
    });
    drop(workers);
    let account: Value = serde_json::from_slice(&soak("account", data).output().unwrap().stdout).unwrap();
    let number = |name: &str| account[name].as_u64().unwrap();
    assert_eq!((number("lost"), number("poison_archived"), number("in_both")), (0, 0, 0), "{account}");
    assert_eq!(number("archived") + number("dead_lettered"), EVENTS, "{account}");
    assert_eq!(number("archived_rows"), number("archived"), "{account}");
    assert!(number("dead_lettered") >= number("poison"), "{account}");
}

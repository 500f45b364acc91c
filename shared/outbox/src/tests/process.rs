//! Real processes, killed with -9: this test binary starts itself, as a child with a part to play.

use std::io::{BufRead as _, Read as _};
use std::net::{Ipv4Addr, TcpListener};
use std::process::Command;
use std::time::Duration;

use eventlane_testkit::process::Process;
use eventlane_testkit::scripted_http::ScriptedHttp;

use super::*;

/// A child's part: `part|path|url`.
const PART: &str = "EVENTLANE_OUTBOX_CHILD";

const SOON: Duration = Duration::from_secs(60);

fn child(part: &str, path: &std::path::Path, url: &str) -> Process {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "tests::process::a_child_plays_its_part", "--nocapture", "--test-threads=1"])
        .env(PART, format!("{part}|{}|{url}", path.display()));
    Process::start(&mut command)
}

/// No test by itself: what a child does.
#[test]
fn a_child_plays_its_part() {
    let Ok(part) = std::env::var(PART) else { return };
    let [part, path, url] = part.split('|').collect::<Vec<_>>()[..] else { panic!("{part}") };
    // A child never outlives its parent.
    std::thread::spawn(|| {
        let _ = std::io::stdin().lock().read_until(0, &mut Vec::new());
        std::process::exit(0);
    });
    println!();
    let durability = if part == "full" { Durability::Full } else { Durability::Normal };
    let outbox =
        Outbox::open(path, registry(), OutboxOptions { durability, ..OutboxOptions::default() }).unwrap();
    let flusher = || {
        let transport = Arc::new(HttpTransport::new(url).unwrap());
        let tokens = Arc::new(|_| Ok(Credentials::anonymous()));
        Flusher::new(outbox.clone(), tuned(20), transport, tokens).unwrap()
    };
    match part {
        "full" | "normal" => {
            let _driver = flusher().start().unwrap();
            std::thread::scope(|scope| {
                for _ in 0..3 {
                    scope.spawn(|| append(&outbox, 50_000));
                }
            });
        }
        "share" => {
            append(&outbox, 150);
            let flusher = flusher();
            while outbox.pending().unwrap() > 0 {
                flusher.flush().unwrap();
                std::thread::yield_now();
            }
        }
        "post" => drop(flusher().flush()),
        "memory" => memory(&outbox),
        part => panic!("{part}"),
    }
}

/// Says each event once it is stored.
fn append(outbox: &Outbox, count: usize) {
    for n in 0..count {
        let appended = outbox.append("a", &json!({ "n": n })).unwrap();
        println!("id {}", appended.event_id);
    }
}

fn id(line: &str) -> Option<String> {
    line.strip_prefix("id ").filter(|id| id.len() == 36).map(str::to_owned)
}

fn ids_of(server: &ScriptedHttp) -> Vec<String> {
    let received = server.received();
    let batches = received.iter().map(|request| Batch::parse(&request.body).unwrap());
    batches
        .flat_map(|batch| {
            batch.events.into_iter().map(|event| event.event_id.to_string()).collect::<Vec<_>>()
        })
        .collect()
}

#[test]
fn killed_under_load_nothing_that_was_stored_is_lost() {
    for part in ["full", "normal"] {
        let (folder, server) = (tempfile::tempdir().unwrap(), ScriptedHttp::start([]));
        let path = folder.path().join("outbox.db");
        let mut rng = fastrand::Rng::with_seed(if part == "full" { 1 } else { 2 });
        let mut stored = BTreeSet::new();
        for _ in 0..5 {
            let mut process = child(part, &path, &server.events_url());
            for _ in 0..rng.usize(1..250) {
                stored.extend(id(&process.line_with("id ", SOON)));
            }
            process.kill();
            stored.extend(process.wait(SOON).stdout.iter().filter_map(|line| id(line)));
        }
        let outbox = Outbox::open(&path, registry(), OutboxOptions::default()).unwrap();
        assert!(outbox.quarantined().is_none());
        let sound: String =
            outbox.inner.writer().query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
        assert_eq!(sound, "ok");
        let counted: i64 = outbox.inner.writer().query_row(PENDING_COUNT_SQL, [], |row| row.get(0)).unwrap();
        assert_eq!(outbox.pending().unwrap(), u64::try_from(counted).unwrap(), "the counters too");
        let rest = Server::new();
        flusher(&outbox, tuned(1000), &rest).flush().unwrap();
        let sent: BTreeSet<String> = ids_of(&server).into_iter().chain(rest.ids()).collect();
        assert!(stored.len() > 5 && sent.is_superset(&stored), "{part}: {} stored", stored.len());
    }
}

#[test]
fn killed_between_post_and_answer_the_same_events_go_up_at_once_after_the_restart() {
    // C16
    let rig = Rig::new();
    let ids = rig.append("a", 5);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let url = format!("http://{}/api/events", listener.local_addr().unwrap());
    let mut process = child("post", &rig.path(), &url);
    let (mut connection, _) = listener.accept().unwrap();
    let mut start = [0; 16];
    connection.read_exact(&mut start).unwrap();
    assert!(start.starts_with(b"POST /api/events"));
    assert_eq!(rig.flush().end, PassEnd::Elsewhere, "the child has the lock");
    process.kill();
    drop(connection);
    assert!(rig.rows().iter().all(StoredRow::is_untouched));
    assert_eq!(rig.flush().acked, 5);
    assert_eq!(rig.server.ids(), ids);
}

#[test]
fn two_processes_share_a_file_and_each_event_goes_up_once() {
    let (folder, server) = (tempfile::tempdir().unwrap(), ScriptedHttp::start([]));
    let path = folder.path().join("outbox.db");
    let processes = [(); 2].map(|()| child("share", &path, &server.events_url()));
    let mut stored = Vec::new();
    for mut process in processes {
        // Waiting closes its stdin, which would end it early: its last line comes first.
        let mut seen = 0;
        while seen < 150 {
            stored.extend(id(&process.line_with("id ", SOON)));
            seen += 1;
        }
        process.line_with("test result: ok", SOON);
    }
    let mut sent = ids_of(&server);
    sent.sort();
    stored.sort();
    assert_eq!((sent.len(), sent), (300, stored));
}

#[cfg(target_os = "linux")]
#[test]
fn a_thousand_large_events_take_no_more_memory_than_a_batch() {
    // C18: 64 MB of rows, and a cap of 32 MiB on what the pass adds.
    let rig = Rig::new();
    let payload = format!("{{\"s\":\"{}\"}}", "x".repeat(65_536 - 8));
    for _ in 0..10 {
        let texts = std::iter::repeat_n(payload.as_str(), 100);
        assert!(rig.outbox.append_all("a", texts).unwrap().iter().all(Result::is_ok));
    }
    let mut process = child("memory", &rig.path(), "");
    let line = process.line_with("grew by ", SOON);
    let grown: u64 = line.rsplit(' ').nth(1).unwrap().parse().unwrap();
    assert!(grown < 32 * 1024, "{line}");
    assert!(rig.rows().is_empty());
}

/// Flushes with a server that keeps nothing, and says how much memory that took at its highest.
fn memory(outbox: &Outbox) {
    struct Discards;
    impl Transport for Discards {
        fn post(&self, request: PostRequest<'_>) -> Result<PostResponse, TransportError> {
            assert!(request.body.len() <= eventlane_contracts::limits::BODY_BYTES);
            Ok(ok(&ack_all(request.body).unwrap()))
        }
    }
    let kib = |name: &str| -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let line = status.lines().find(|line| line.starts_with(name)).unwrap_or("0 0").to_owned();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    let before = kib("VmRSS:");
    let tokens = Arc::new(|_| Ok(Credentials::anonymous()));
    let flusher = Flusher::new(outbox.clone(), tuned(1000), Arc::new(Discards), tokens).unwrap();
    assert_eq!(flusher.flush().unwrap().acked, 1000);
    println!("grew by {} KiB", kib("VmHWM:").saturating_sub(before));
}

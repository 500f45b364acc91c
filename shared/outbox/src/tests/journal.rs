//! The example app, run as it is: what its user sees.

use eventlane_testkit::scripted_http::ScriptedHttp;

use super::*;

#[path = "../../examples/journal.rs"]
mod app;

fn run(path: &std::path::Path, url: Option<&str>, input: &str) -> Vec<String> {
    let screen = Arc::new(Mutex::new(Vec::<u8>::new()));
    let shown: Arc<Mutex<dyn std::io::Write + Send>> = Arc::clone(&screen) as _;
    let tokens = Arc::new(|_| Ok(Credentials::bearer("T1")));
    app::run(path.to_str().unwrap(), url, tokens, &mut input.as_bytes(), &shown).unwrap();
    let text = String::from_utf8(screen.lock().unwrap().clone()).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn the_journal_keeps_reviews_offline_and_shows_a_best_guess_until_they_are_folded() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    let offline = run(&path, None, "3\n9\nwell\n\n4\n");
    assert_eq!(offline[..2], ["[all sent]", "[waiting to be sent]"]);
    assert!(offline[2..4].iter().all(|line| line.starts_with("not kept: stream review_graded: ")));
    assert_eq!(offline[4..], ["… 3", "… 3", "… 4"], "on an empty line, and at the end");

    let server = ScriptedHttp::start([]);
    let online = run(&path, Some(&server.events_url()), "1\n");
    assert_eq!(online[0], "[waiting to be sent]");
    assert_eq!(online[online.len() - 4..], ["[all sent]", "✓ 3", "✓ 4", "✓ 1"]);

    let sql = rusqlite::Connection::open(&path).unwrap();
    let last: i64 =
        sql.query_row("SELECT max(acked_at_us) FROM eventlane_outbox", [], |row| row.get(0)).unwrap();
    sql.execute("INSERT INTO eventlane_folded VALUES ('review_graded', ?1)", [last]).unwrap();
    assert_eq!(run(&path, None, ""), ["[all sent]"], "what came down shows them now");
}

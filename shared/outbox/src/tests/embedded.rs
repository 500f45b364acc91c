//! A3: the outbox in the app's own file and transactions.

use rusqlite::{Connection, TransactionBehavior};

use super::*;

/// The app's own database, with what an app might have set.
fn app(folder: &TempDir) -> Connection {
    let app = Connection::open(folder.path().join("app.db")).unwrap();
    app.execute_batch(
        "PRAGMA page_size = 8192; PRAGMA application_id = 7; PRAGMA user_version = 42; \
         CREATE TABLE notes (text TEXT);",
    )
    .unwrap();
    app
}

fn embed(folder: &TempDir) -> Outbox {
    Outbox::embed(folder.path().join("app.db"), registry(), OutboxOptions::default()).unwrap()
}

fn pragma(app: &Connection, name: &str) -> String {
    app.query_row(
        &format!("SELECT CAST(x AS TEXT) FROM (SELECT {name} AS x FROM pragma_{name})"),
        [],
        |row| row.get(0),
    )
    .unwrap()
}

#[test]
fn embedding_adds_two_tables_and_changes_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let app = app(&folder);
    let pragmas = ["journal_mode", "page_size", "application_id", "user_version", "auto_vacuum"];
    let before = pragmas.map(|name| pragma(&app, name));
    let outbox = embed(&folder);
    outbox.append("a", &json!({"n": 1})).unwrap();
    let server = Server::new();
    assert_eq!(flusher(&outbox, tuned(10), &server).flush().unwrap().acked, 1);
    drop(outbox);
    assert_eq!(pragmas.map(|name| pragma(&app, name)), before, "no journal mode either");
    let mut tables =
        app.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").unwrap();
    let tables: Vec<String> = tables.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    assert_eq!(tables, ["eventlane_meta", "eventlane_outbox", "notes", "sqlite_sequence"]);
    assert!(TABLES.iter().all(|table| tables.iter().any(|name| name == table)));
}

#[test]
fn the_app_may_ask_how_much_is_pending_inside_its_own_transaction() {
    let folder = tempfile::tempdir().unwrap();
    let mut app = app(&folder);
    let outbox = embed(&folder);
    drop(outbox.append_all("a", std::iter::repeat_n("{}", 1_500)).unwrap());
    let transaction = app.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
    assert_eq!(outbox.pending().unwrap(), 1_500);
    assert_eq!(meta(&transaction, "counted_seq"), 0, "nothing waited for the app's lock");
}

#[test]
fn a_file_that_isnt_there_is_not_made_up_and_a_damaged_one_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.db");
    let open = || Outbox::embed(&path, registry(), OutboxOptions::default()).unwrap_err();
    assert_eq!(open().tag(), "file");
    assert!(!path.exists());
    std::fs::write(&path, "the app's own trouble".repeat(100)).unwrap();
    let error = open();
    assert_eq!((error.tag(), error.is_retryable()), ("store", false));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is renamed");
}

#[test]
fn an_event_goes_with_the_apps_own_change_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let mut app = app(&folder);
    let outbox = embed(&folder);
    let told = Arc::new(Mutex::new(Vec::new()));
    let record = Arc::clone(&told);
    let _status = outbox.on_status(move |status| record.lock().unwrap().push(status.empty)).unwrap();
    for commits in [false, true] {
        let transaction = app.transaction().unwrap();
        transaction.execute("INSERT INTO notes VALUES ('x')", []).unwrap();
        let appended = outbox.append_in(&transaction, "a", &json!({"n": 1})).unwrap();
        assert_eq!(appended.seq, 1);
        outbox.append_json_in(&transaction, "b", "{ \"n\" : 2 }").unwrap();
        if commits {
            transaction.commit().unwrap()
        } else {
            transaction.rollback().unwrap()
        }
        outbox.nudge();
        let notes: u64 = app.query_row("SELECT count(*) FROM notes", [], |row| row.get(0)).unwrap();
        assert_eq!((notes, outbox.pending().unwrap()), if commits { (1, 2) } else { (0, 0) });
    }
    assert_eq!(*told.lock().unwrap(), [true, false], "the nudge tells what the commit changed");
}

#[test]
fn a_refused_event_leaves_the_apps_transaction_usable() {
    // R14 on the client's side: the refusal comes before the database is touched.
    let folder = tempfile::tempdir().unwrap();
    let mut app = app(&folder);
    let outbox = embed(&folder);
    let transaction = app.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
    transaction.execute("INSERT INTO notes VALUES ('x')", []).unwrap();
    assert_eq!(outbox.append_json_in(&transaction, "a", "{\"s\":\"\\ud800\"}").unwrap_err().tag(), "invalid");
    assert_eq!(outbox.append_in(&transaction, "nobody", &json!({})).unwrap_err().tag(), "unknown_stream");
    outbox.append_json_in(&transaction, "a", "{\"s\":\"\\u0000\"}").unwrap();
    transaction.commit().unwrap();
    assert_eq!(outbox.pending().unwrap(), 1);
}

#[test]
fn append_in_works_on_an_owned_file_too() {
    let rig = Rig::new();
    let mut sql = rig.sql();
    let transaction = sql.transaction().unwrap();
    let appended = rig.outbox.append_in(&transaction, "a", &json!({"n": 1})).unwrap();
    transaction.commit().unwrap();
    assert_eq!(rig.flush().acked, 1);
    assert_eq!(rig.server.ids(), [appended.event_id]);
}

#[test]
fn an_app_on_another_driver_runs_the_statement_itself() {
    let rig = Rig::new();
    rig.outbox.set_account(Some("ann".to_owned()));
    let plain = rig.outbox.plain_append("a", &json!({"s": "s3cret"})).unwrap();
    assert!(!format!("{plain:?}").contains("s3cret") && !format!("{plain:?}").contains("ann"));
    assert_eq!(rig.outbox.plain_append_json("a", "{oops").unwrap_err().tag(), "invalid");
    assert_eq!(rig.outbox.pending().unwrap(), 0, "nothing is stored yet");
    let run = |plain: &PlainAppend| {
        let PlainAppend { event_id, stream, occurred_at_us, payload, enqueued_at_us, account } = plain;
        let params = (event_id, stream, occurred_at_us, payload, enqueued_at_us, account);
        rig.sql().execute(APPEND_SQL, params).unwrap()
    };
    assert_eq!(run(&plain), 1);
    assert_eq!(rig.outbox.pending().unwrap(), 1, "counted whoever wrote it");
    let row = rig.outbox.row_of(&plain.event_id).unwrap().unwrap();
    assert_eq!((row.payload.as_str(), row.account.as_deref()), ("{\"s\":\"s3cret\"}", Some("ann")));
    let late = rig.outbox.plain_append("a", &json!({"n": 2})).unwrap();
    rig.outbox.set_consent(false).unwrap();
    assert_eq!(run(&late), 0, "consent withdrawn meanwhile");
    assert_eq!(rig.outbox.plain_append("a", &json!({})).unwrap_err().tag(), "consent_withdrawn");
}

#[test]
fn a_stale_snapshot_is_the_callers_and_never_ours() {
    // C03: a reader that becomes a writer after another's commit gets BUSY at once, whatever the
    // timeout. Ours take the write lock at their begin.
    let rig = Rig::new();
    rig.append("a", 1);
    let reader = rig.sql();
    reader.execute_batch("BEGIN").unwrap();
    reader.query_row("SELECT count(*) FROM eventlane_outbox", [], |_| Ok(())).unwrap();
    rig.append("a", 1);
    assert_eq!(rig.flush().acked, 2);
    rig.append("a", 1);
    let update = reader.execute("UPDATE eventlane_outbox SET attempt_count = 1", []);
    assert_eq!(update.unwrap_err().sqlite_error_code(), Some(rusqlite::ErrorCode::DatabaseBusy));
    reader.execute_batch("ROLLBACK").unwrap();
    assert_eq!(rig.rows().len(), 1);
}

//! The file: damaged, out of reach, replaced, locked, full, of an older or a newer build.

use rusqlite::ErrorCode;

use super::*;
use crate::open::beside;
use crate::quarantine::is_damage;

/// An outbox with three rows, closed, its log folded into the file.
fn closed() -> (TempDir, PathBuf) {
    let rig = Rig::new();
    rig.append("a", 3);
    let path = rig.path();
    let Rig { folder, outbox, flusher, .. } = rig;
    drop((outbox, flusher));
    assert!(!beside(&path, "-wal").exists());
    (folder, path)
}

fn open(path: &std::path::Path) -> Result<Outbox, OpenError> {
    Outbox::open(path, registry(), OutboxOptions::default())
}

fn files(folder: &TempDir) -> Vec<String> {
    let names = std::fs::read_dir(folder.path()).unwrap();
    let mut names: Vec<_> = names.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_damaged_file_is_put_aside_whole_and_the_app_goes_on() {
    // C11: the first 100 bytes zeroed; truncated to 100 bytes; no database at all.
    let zeroed = |bytes: &mut Vec<u8>| bytes[..100].fill(0);
    let truncated = |bytes: &mut Vec<u8>| bytes.truncate(100);
    let foreign = |bytes: &mut Vec<u8>| *bytes = b"perhaps somebody's only copy".repeat(100);
    let spoils: [fn(&mut Vec<u8>); 3] = [zeroed, truncated, foreign];
    for spoil in spoils {
        let (folder, path) = closed();
        let mut bytes = std::fs::read(&path).unwrap();
        spoil(&mut bytes);
        std::fs::write(&path, &bytes).unwrap();
        let outbox = open(&path).unwrap();
        let loss = outbox.quarantined().expect("the loss is told");
        assert_eq!(std::fs::read(&loss.path).unwrap(), bytes, "nothing of it is deleted");
        let told = outbox.diagnostics().unwrap().quarantined_at_us;
        assert_eq!(told, Some(loss.at_us));
        outbox.append("a", &json!({"n": 1})).unwrap();
        assert_eq!(flusher(&outbox, tuned(10), &Server::new()).flush().unwrap().acked, 1);
        drop(outbox);
        assert!(open(&path).unwrap().quarantined().is_none(), "once: {:?}", files(&folder));
    }
}

#[test]
fn of_two_that_find_the_damage_one_puts_the_file_aside() {
    let (folder, path) = closed();
    std::fs::write(&path, "no database").unwrap();
    let outcomes: Vec<Outbox> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| open(&path).unwrap())).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(outcomes.iter().filter(|outbox| outbox.quarantined().is_some()).count(), 1);
    for outbox in &outcomes {
        outbox.append("a", &json!({})).unwrap();
    }
    assert_eq!(outcomes[0].pending().unwrap(), 4, "all in the one fresh file: {:?}", files(&folder));
}

#[test]
fn damage_inside_the_file_is_found_by_a_statement_and_put_aside_at_the_next_opening() {
    let rig = Rig::new();
    rig.append("a", 2000);
    let path = rig.path();
    let Rig { folder, outbox, flusher: old, .. } = rig;
    drop((outbox, old));
    let mut bytes = std::fs::read(&path).unwrap();
    let end = bytes.len();
    bytes[3 * 4096..end].fill(0xa5);
    std::fs::write(&path, &bytes).unwrap();
    let outbox = open(&path).unwrap();
    assert!(outbox.quarantined().is_none(), "the opening alone doesn't read it");
    let error = flusher(&outbox, tuned(10), &Server::new()).flush().unwrap_err();
    assert!(matches!(&error, FlushError::Store(error) if is_damage(error)), "{error}");
    drop(outbox);
    let outbox = open(&path).unwrap();
    assert!(outbox.quarantined().is_some(), "{:?}", files(&folder));
    outbox.append("a", &json!({})).unwrap();
}

#[test]
fn a_wrong_suspicion_is_dropped() {
    let (folder, path) = closed();
    std::fs::write(beside(&path, "-suspect"), "").unwrap();
    let outbox = open(&path).unwrap();
    assert!(outbox.quarantined().is_none() && outbox.pending().unwrap() == 3);
    assert!(!files(&folder).contains(&"outbox.db-suspect".to_owned()));
}

#[test]
fn only_damage_is_damage() {
    // C12: a locked device says AUTH, IOERR or CANTOPEN; none of it says anything of the file.
    use rusqlite::ffi;
    let error = |code| rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
    for code in [
        ffi::SQLITE_AUTH,
        ffi::SQLITE_IOERR,
        ffi::SQLITE_CANTOPEN,
        ffi::SQLITE_PERM,
        ffi::SQLITE_READONLY,
        ffi::SQLITE_BUSY,
        ffi::SQLITE_LOCKED,
        ffi::SQLITE_FULL,
        ffi::SQLITE_NOMEM,
        ffi::SQLITE_PROTOCOL,
        ffi::SQLITE_IOERR_READ,
        ffi::SQLITE_IOERR_SHORT_READ,
        ffi::SQLITE_IOERR_CORRUPTFS,
        ffi::SQLITE_CANTOPEN_ISDIR,
        ffi::SQLITE_READONLY_DBMOVED,
        ffi::SQLITE_ERROR,
        ffi::SQLITE_SCHEMA,
    ] {
        assert!(!is_damage(&error(code)), "{code}");
    }
    for code in [ffi::SQLITE_CORRUPT, ffi::SQLITE_NOTADB, ffi::SQLITE_CORRUPT_INDEX] {
        assert!(is_damage(&error(code)), "{code}");
    }
}

#[test]
fn a_file_out_of_reach_is_a_typed_error_and_is_all_there_afterwards() {
    // C12. Folders in the way, since a test that runs as root passes any mode.
    let (folder, path) = closed();
    let aside = folder.path().join("held");
    std::fs::rename(&path, &aside).unwrap();
    std::fs::create_dir(&path).unwrap();
    let error = open(&path).unwrap_err();
    assert!(error.tag() == "file" && error.is_retryable(), "{error}");
    std::fs::remove_dir(&path).unwrap();
    std::fs::rename(&aside, &path).unwrap();
    let wal = beside(&path, "-wal");
    std::fs::create_dir(&wal).unwrap();
    let error = open(&path).unwrap_err();
    let OpenError::Store(cause) = &error else { panic!("{error}") };
    assert_eq!(cause.sqlite_error_code(), Some(ErrorCode::CannotOpen));
    assert!(error.is_retryable());
    std::fs::remove_dir(&wal).unwrap();
    let outbox = open(&path).unwrap();
    assert!(outbox.quarantined().is_none() && outbox.pending().unwrap() == 3);
}

#[test]
fn a_replaced_file_takes_no_append_that_nobody_would_read() {
    let rig = Rig::new();
    rig.append("a", 1);
    std::fs::rename(rig.path(), rig.folder.path().join("old.db")).unwrap();
    for side in ["-wal", "-shm"] {
        std::fs::rename(beside(&rig.path(), side), rig.folder.path().join(format!("old.db{side}"))).unwrap();
    }
    let error = rig.outbox.append("a", &json!({})).unwrap_err();
    assert!(error.to_string().contains("moved or replaced while open"), "{error}");
    let fresh = open(&rig.path()).unwrap();
    assert!(rig.outbox.append("a", &json!({})).is_err(), "replaced by now");
    fresh.append("a", &json!({})).unwrap();
    assert_eq!(open(&rig.folder.path().join("old.db")).unwrap().pending().unwrap(), 1);
}

#[test]
fn a_locked_file_is_a_typed_error_and_opens_all_the_same() {
    let rig = Rig::new();
    rig.append("a", 1);
    let other = rig.sql();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let again = open(&rig.path()).unwrap();
    assert_eq!(again.pending().unwrap(), 1, "a file that is up to date is only read");
    again.inner.writer().busy_timeout(std::time::Duration::ZERO).unwrap();
    let error = again.append("a", &json!({})).unwrap_err();
    assert!(error.tag() == "store" && error.is_retryable());
    other.execute_batch("ROLLBACK").unwrap();
    again.append("a", &json!({})).unwrap();
}

#[test]
fn a_file_that_cant_be_written_is_a_typed_error_and_keeps_its_rows() {
    let rig = Rig::new();
    rig.append("a", 1);
    for connection in [rig.outbox.inner.writer(), rig.outbox.inner.flusher()] {
        connection.pragma_update(None, "query_only", true).unwrap();
    }
    let AppendError::Store(error) = rig.outbox.append("a", &json!({})).unwrap_err() else { panic!() };
    assert_eq!(error.sqlite_error_code(), Some(ErrorCode::ReadOnly));
    assert_eq!(rig.flusher.flush().unwrap_err().tag(), "store");
    for connection in [rig.outbox.inner.writer(), rig.outbox.inner.flusher()] {
        connection.pragma_update(None, "query_only", false).unwrap();
    }
    rig.flush();
    assert!(rig.rows().is_empty());
}

#[cfg(unix)]
#[test]
fn a_file_of_old_loses_what_others_may_do_and_nothing_else() {
    use std::os::unix::fs::PermissionsExt as _;
    let (_folder, path) = closed();
    for (before, after) in [(0o644, 0o600), (0o600, 0o600), (0o477, 0o400)] {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(before)).unwrap();
        drop(open(&path));
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, after);
    }
}

#[test]
fn a_full_disk_when_an_ack_is_recorded_sends_nothing_up_twice() {
    // C08: the delete needs space too. A trigger that says FULL stands for the page that isn't there.
    let rig = Rig::with(OutboxOptions::default(), tuned(2));
    let ids = rig.append("a", 6);
    rig.outbox.inner.flusher().execute_batch("PRAGMA cache_spill = 0").unwrap();
    let full = |is_full: bool| {
        let connection = rig.outbox.inner.flusher();
        let pages: i64 = connection.query_row("PRAGMA page_count", [], |row| row.get(0)).unwrap();
        let pages = if is_full { pages } else { 1_000_000 };
        connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(())).unwrap();
    };
    full(true);
    rig.sql()
        .execute_batch(
            // Each removal wants a page of its own.
            "CREATE TABLE ballast (x); CREATE TRIGGER hungry AFTER DELETE ON eventlane_outbox \
             BEGIN INSERT INTO ballast VALUES (zeroblob(100000)); END;",
        )
        .unwrap();
    full(true);
    for _ in 0..3 {
        let FlushError::Store(error) = rig.flusher.flush().unwrap_err() else { panic!() };
        assert_eq!(error.sqlite_error_code(), Some(ErrorCode::DiskFull));
    }
    assert_eq!(rig.server.batches(), [2], "stopped after the first ack that can't be recorded");
    assert_eq!(rig.rows().len(), 6);
    full(false);
    rig.flush();
    assert!(rig.rows().is_empty());
    assert_eq!(rig.server.ids(), ids, "each went up once");
}

#[test]
fn an_older_builds_file_is_migrated_with_all_that_is_in_it() {
    for older in [include_str!("fixtures/version_1.sql"), include_str!("fixtures/version_2.sql")] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("outbox.db");
        let sql = rusqlite::Connection::open(&path).unwrap();
        sql.execute_batch(older).unwrap();
        drop(sql);
        let outbox = open(&path).unwrap();
        let found = outbox.diagnostics().unwrap();
        assert_eq!((found.schema_version, found.pending_rows, found.acked_rows), (SCHEMA_VERSION, 2, 1));
        let sql = rusqlite::Connection::open(&path).unwrap();
        let counted = ["counted_seq", "pending_rows", "pending_bytes"].map(|key| meta(&sql, key));
        assert_eq!(counted, [3, 2, 7 + 10], "all that is there is counted once");
        outbox.append("a", &json!({})).unwrap();
        assert_eq!(outbox.pending().unwrap(), 3);
        assert_eq!(schema_of(&sql), schema_of(&Rig::new().sql()), "as a fresh file");
        assert_eq!(flusher(&outbox, tuned(10), &Server::new()).flush().unwrap().acked, 3);
        assert_eq!(open(&path).unwrap().pending().unwrap(), 0);
    }
}

fn schema_of(sql: &rusqlite::Connection) -> Vec<String> {
    let all = "SELECT name || ': ' || sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name";
    let mut schema = sql.prepare(all).unwrap();
    schema
        .query_map([], |row| row.get::<_, String>(0))
        .unwrap()
        .map(|sql| sql.unwrap().replace("IF NOT EXISTS ", ""))
        .collect()
}

#[test]
fn an_older_file_that_is_locked_waits_and_is_migrated_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("outbox.db");
    let sql = rusqlite::Connection::open(&path).unwrap();
    sql.execute_batch(include_str!("fixtures/version_1.sql")).unwrap();
    drop(sql);
    std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..4).map(|_| scope.spawn(|| open(&path).unwrap().pending().unwrap())).collect();
        assert!(threads.into_iter().all(|thread| thread.join().unwrap() == 2));
    });
}

#[test]
fn durability_is_what_was_declared_on_both_connections() {
    // That data in a drive's cache survives a power cut can't be shown here: the pragmas are.
    let folder = tempfile::tempdir().unwrap();
    for (durability, synchronous, fullfsync) in [(Durability::Full, 2, 1), (Durability::Normal, 1, 0)] {
        let path = folder.path().join(format!("{durability:?}.db"));
        let outbox =
            Outbox::open(path, registry(), OutboxOptions { durability, ..OutboxOptions::default() }).unwrap();
        let pragma = |connection: &rusqlite::Connection, name: &str| -> i64 {
            connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get(0)).unwrap()
        };
        let writer = outbox.inner.writer();
        let found = ["synchronous", "fullfsync", "checkpoint_fullfsync"].map(|name| pragma(&writer, name));
        assert_eq!(found, [synchronous, fullfsync, fullfsync], "{durability:?}");
        // A settle is only sent again, so it needs no fsync; but whoever moves the log into the file has
        // to do it as the appends were promised.
        let flusher = outbox.inner.flusher();
        let found = ["synchronous", "fullfsync", "checkpoint_fullfsync"].map(|name| pragma(&flusher, name));
        assert_eq!(found, [1, 0, fullfsync], "{durability:?}");
    }
}

#[test]
fn a_journal_mode_that_is_busy_at_once_is_waited_for() {
    // SQLite answers BUSY here whatever the timeout: two that create a file at the same moment meet so.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("outbox.db");
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("CREATE TABLE t (x); BEGIN IMMEDIATE").unwrap();
    let tries = std::cell::Cell::new(0);
    let connection = crate::open::patiently(|| {
        tries.set(tries.get() + 1);
        if tries.get() == 2 {
            other.execute_batch("ROLLBACK").unwrap();
        }
        crate::open::connect(&path, Durability::Normal, false)
    });
    assert!(connection.is_ok() && tries.get() == 2, "{} tries", tries.get());
}

#[test]
fn many_that_create_the_file_at_the_same_moment_all_open_it() {
    for _ in 0..10 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("outbox.db");
        let start = std::sync::Barrier::new(8);
        let opened = std::thread::scope(|scope| {
            let open = || {
                start.wait();
                open(&path).map(|outbox| outbox.append("a", &json!({})).unwrap())
            };
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(open)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        });
        assert!(opened.iter().all(Result::is_ok), "{opened:?}");
        assert_eq!(open(&path).unwrap().pending().unwrap(), 8);
    }
}

#[test]
fn a_log_layer_may_append_when_a_damaged_file_cant_be_marked() {
    struct Layer(Outbox, std::sync::atomic::AtomicUsize);
    impl tracing::Subscriber for Layer {
        fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
            true
        }
        fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
            tracing::span::Id::from_u64(1)
        }
        fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
        fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
        fn event(&self, _: &tracing::Event<'_>) {
            // One that appends from within its own event would do so for ever.
            if self.1.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 0 {
                drop(self.0.append("a", &json!({})));
            }
        }
        fn enter(&self, _: &tracing::span::Id) {}
        fn exit(&self, _: &tracing::span::Id) {}
    }
    let rig = Rig::new();
    rig.append("a", 1);
    // A folder where the mark would be, and a statement that finds damage.
    std::fs::create_dir(beside(&rig.path(), "-suspect")).unwrap();
    rig.outbox
        .inner
        .writer()
        .execute_batch(
            "PRAGMA writable_schema = ON; \
        UPDATE sqlite_schema SET rootpage = 999999 WHERE name = 'eventlane_outbox_ready'; \
        PRAGMA writable_schema = RESET",
        )
        .unwrap();
    let (sender, ended) = std::sync::mpsc::channel();
    let outbox = rig.outbox.clone();
    std::thread::spawn(move || {
        let layer = Layer(outbox.clone(), Default::default());
        let error = tracing::subscriber::with_default(layer, || outbox.append("a", &json!({})).unwrap_err());
        sender.send(error.to_string()).unwrap();
    });
    let error = ended.recv_timeout(std::time::Duration::from_secs(20)).expect("no deadlock");
    assert!(error.contains("malformed"), "{error}");
}

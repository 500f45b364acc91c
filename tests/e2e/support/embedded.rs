//! The lane on one machine: `eventlane up`, a real process.

use std::path::{Path, PathBuf};

use eventlane_testkit::process::Process;
use rusqlite::{Connection, OpenFlags};

use super::{Archived, Lane, PATIENCE, eventlane, wait_until};

pub(crate) struct Embedded {
    pub(crate) process: Process,
    folder: PathBuf,
    url: String,
}

impl Embedded {
    /// Starts it on a free port with its data in `folder`.
    pub(crate) fn start(folder: &Path, more: &[&str]) -> Self {
        let mut arguments = vec!["up", "--listen", "127.0.0.1:0", "--data", folder.to_str().unwrap()];
        arguments.extend(more);
        let mut process = Process::start(&mut eventlane(&arguments));
        let line = process.line_with("listening on", PATIENCE);
        let url = line.rsplit(' ').next().unwrap().to_owned();
        Self { process, folder: folder.to_owned(), url }
    }

    /// Messages that a queue still holds, leased ones counted.
    pub(crate) fn queued(&self) -> u64 {
        count(&self.folder.join("queue.db"), "SELECT count(*) FROM messages")
    }

    /// Events in the archive now.
    pub(crate) fn archive(&self) -> Vec<Archived> {
        let database = open(&self.folder.join("archive.db"));
        let mut select = database.prepare("SELECT stream, event_id, payload FROM events").unwrap();
        let rows = select.query_map([], |row| {
            Ok(Archived { stream: row.get(0)?, event_id: row.get(1)?, payload: row.get(2)? })
        });
        rows.unwrap().collect::<Result<_, _>>().unwrap()
    }

    /// The event id of every handler call, from a table without a key.
    pub(crate) fn handler_calls(&self) -> Vec<String> {
        let database = open(&self.folder.join("archive.db"));
        let mut select = database.prepare("SELECT event_id FROM handler_calls").unwrap();
        select.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
    }
}

impl Lane for Embedded {
    fn url(&self) -> String {
        self.url.clone()
    }

    fn secret(&self) -> String {
        std::fs::read_to_string(self.folder.join("dev-secret")).unwrap()
    }

    fn archived(&self) -> Vec<Archived> {
        wait_until("an empty queue", || self.queued() == 0);
        self.archive()
    }
}

fn open(path: &Path) -> Connection {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    connection.busy_timeout(PATIENCE).unwrap();
    connection
}

fn count(path: &Path, sql: &str) -> u64 {
    open(path).query_row(sql, [], |row| row.get(0)).unwrap()
}

//! Flush of a backlog to a local ingest, against a bare read, post and delete loop.

use std::sync::Arc;
use std::time::Duration;

use anyhow::ensure;
use eventlane_contracts::wire::EVENTS_PATH;
use eventlane_outbox::{
    Credentials, DDL, FlushOptions, Flusher, HttpTransport, Outbox, OutboxOptions, PassEnd,
};
use eventlane_testkit::server::LocalServer;
use rusqlite::Connection;

use crate::ingest;
use crate::measure::{rate, rounds, time};
use crate::report::Figure;

/// Events of one round's backlog; the rounds together flush 100,000 and more.
const EVENTS: usize = 20_000;

const BATCH: usize = 200;

const ROUNDS: usize = 5;

const PAYLOAD: &str = r#"{"issueId":"b48b36ee-0d62-4382-8f6b-17f0b6b3bd77"}"#;

pub(crate) fn flush() -> anyhow::Result<Figure> {
    let server = LocalServer::start(ingest::door()?);
    let url = format!("{}{EVENTS_PATH}", server.url());
    let folder = tempfile::tempdir()?;

    let registry = Arc::new(eventlane_lane::registry()?);
    let outbox = Outbox::open(folder.path().join("outbox.db"), registry, OutboxOptions::default())?;
    let token = ingest::token();
    let tokens = move |_: bool| Ok(Credentials::bearer(token.clone()));
    let transport = Arc::new(HttpTransport::new(&url)?);
    let flusher = Flusher::new(outbox.clone(), FlushOptions::default(), transport, Arc::new(tokens))?;
    let part = || {
        let texts = std::iter::repeat_n(PAYLOAD, EVENTS);
        let appended = outbox.append_all("issue_viewed", texts).expect("appends");
        assert!(appended.iter().all(Result::is_ok));
        let mut report = None;
        let took = time(|| report = Some(flusher.flush().expect("a pass")));
        let report = report.expect("a report");
        assert_eq!((report.acked, &report.end), (EVENTS as u64, &PassEnd::Done));
        took
    };

    let mut bare = Bare::open(&folder.path().join("bare.db"), &url)?;
    let limit = || {
        bare.fill().expect("a backlog");
        time(|| bare.send().expect("a bare loop"))
    };
    let measured = rounds(ROUNDS, part, limit);
    ensure!(outbox.pending()? == 0, "a flush left events behind");
    Ok(Figure {
        name: "flush",
        value: rate(EVENTS, measured.part),
        unit: "events/s",
        ratio: Some(measured.ratio),
        reach: "<= 1.3",
        spread: Some(measured.spread),
    })
}

/// The least that could be called a flush: read a batch, post it, delete it.
struct Bare {
    connection: Connection,
    agent: ureq::Agent,
    url: String,
    token: String,
}

impl Bare {
    fn open(path: &std::path::Path, url: &str) -> anyhow::Result<Self> {
        let connection = Connection::open(path)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        // As the outbox settles: a lost delete is only sent again.
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        connection.execute_batch(DDL)?;
        let agent =
            ureq::Agent::config_builder().timeout_global(Some(Duration::from_secs(30))).build().into();
        Ok(Self { connection, agent, url: url.to_owned(), token: ingest::token() })
    }

    fn fill(&mut self) -> rusqlite::Result<()> {
        let transaction = self.connection.transaction()?;
        for _ in 0..EVENTS {
            transaction
                .prepare_cached(
                    "INSERT INTO eventlane_outbox (event_id, stream, occurred_at_us, payload, enqueued_at_us) \
                     VALUES (?1, 'issue_viewed', 1764518400000000, ?2, 1764518400000000)",
                )?
                .execute((uuid::Uuid::now_v7().to_string(), PAYLOAD))?;
        }
        transaction.commit()
    }

    fn send(&mut self) -> anyhow::Result<()> {
        loop {
            let transaction = self.connection.transaction()?;
            let mut envelopes = Vec::new();
            let mut last = 0i64;
            {
                let mut select = transaction.prepare_cached(
                    "SELECT seq, event_id, occurred_at_us, payload FROM eventlane_outbox ORDER BY seq LIMIT ?1",
                )?;
                let mut rows = select.query([BATCH])?;
                while let Some(row) = rows.next()? {
                    last = row.get(0)?;
                    let (id, at, payload): (String, i64, String) = (row.get(1)?, row.get(2)?, row.get(3)?);
                    envelopes.push(format!(
                        r#"{{"stream":"issue_viewed","eventId":"{id}","occurredAtUs":"{at}","payload":{payload}}}"#
                    ));
                }
            }
            if envelopes.is_empty() {
                return Ok(());
            }
            let body = format!(r#"{{"events":[{}]}}"#, envelopes.join(","));
            let request =
                self.agent.post(&self.url).header("authorization", format!("Bearer {}", self.token));
            let answer = request.send(body)?.body_mut().read_to_string()?;
            ensure!(
                answer.matches("\"acked\"").count() == envelopes.len(),
                "the bare loop has to be right too"
            );
            transaction.execute("DELETE FROM eventlane_outbox WHERE seq <= ?1", [last])?;
            transaction.commit()?;
        }
    }
}

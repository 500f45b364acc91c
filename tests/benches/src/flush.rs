//! Flush of a backlog to a local ingest, against a bare read, post and delete loop.

use std::sync::Arc;
use std::time::Duration;

use anyhow::ensure;
use eventlane_contracts::wire::EVENTS_PATH;
use eventlane_outbox::{
    Credentials, Durability, FlushOptions, Flusher, HttpTransport, Outbox, OutboxOptions, PassEnd,
};
use eventlane_testkit::server::LocalServer;
use rusqlite::Connection;

use crate::append::{PAYLOAD, raw};
use crate::ingest;
use crate::measure::{Rounds, float, rate, rounds, time, us_each};
use crate::plot::Line;
use crate::report::{Figure, Reach};

const EVENTS: usize = 100_000;

const BATCH: usize = 200;

const ROUNDS: usize = 7;

pub(crate) fn flush() -> anyhow::Result<Figure> {
    let measured = measure(EVENTS, ROUNDS)?;
    Ok(Figure {
        name: "flush",
        value: rate(EVENTS, measured.part),
        unit: "events/s",
        ratio: Some(measured.ratio),
        reach: Reach::AtMost(1.3),
        spread: Some(measured.spread),
        note: format!("{:.2?} for 100,000 events; bare loop {:.2?}", measured.part, measured.limit),
    })
}

/// Microseconds an event by backlog.
pub(crate) fn by_backlog() -> anyhow::Result<Vec<Line>> {
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for events in [1_000usize, 10_000, 100_000, 300_000] {
        let measured = measure(events, 3)?;
        ours.push((float(events), us_each(events, measured.part)));
        bare.push((float(events), us_each(events, measured.limit)));
    }
    Ok(vec![Line::new("flush", ours), Line::new("bare read, post, delete", bare)])
}

fn measure(events: usize, count: usize) -> anyhow::Result<Rounds> {
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
        let texts = std::iter::repeat_n(PAYLOAD, events);
        let appended = outbox.append_all("issue_viewed", texts).expect("appends");
        assert!(appended.iter().all(Result::is_ok));
        let mut report = None;
        let took = time(|| report = Some(flusher.flush().expect("a pass")));
        let report = report.expect("a report");
        assert_eq!((report.acked, &report.end), (events as u64, &PassEnd::Done));
        took
    };

    let mut bare = Bare::open(folder.path(), &url)?;
    let limit = || {
        bare.fill(events).expect("a backlog");
        time(|| bare.send().expect("a bare loop"))
    };
    let measured = rounds(count, part, limit);
    ensure!(outbox.pending()? == 0, "a flush left events behind");
    Ok(measured)
}

/// The least that could be called a flush: read a batch, post it, delete it.
struct Bare {
    connection: Connection,
    agent: ureq::Agent,
    url: String,
    token: String,
}

impl Bare {
    fn open(folder: &std::path::Path, url: &str) -> anyhow::Result<Self> {
        // As the outbox settles: a lost delete is only sent again.
        let connection = raw(folder, Durability::Normal)?;
        let agent = ureq::Agent::config_builder().timeout_global(Some(Duration::from_secs(30))).proxy(None);
        Ok(Self { connection, agent: agent.build().into(), url: url.to_owned(), token: ingest::token() })
    }

    fn fill(&mut self, events: usize) -> rusqlite::Result<()> {
        let transaction = self.connection.transaction()?;
        for _ in 0..events {
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
            let mut envelopes = Vec::new();
            let mut last = 0i64;
            {
                let mut select = self.connection.prepare_cached(
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
            self.connection
                .prepare_cached("DELETE FROM eventlane_outbox WHERE seq <= ?1")?
                .execute([last])?;
        }
    }
}

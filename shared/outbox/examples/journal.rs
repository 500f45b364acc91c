//! A small desktop-style app: a learner's journal of reviews. Each line of stdin is a grade from 1 to 4,
//! kept on disk at once and sent when it can be; an empty line shows the journal.
//!
//! ```sh
//! # the lane on this machine, in one terminal
//! cargo run --release -- up --data lane
//! # the app, in another
//! export EVENTLANE_TOKEN=$(cargo run --release -- token --data lane --sub ann \
//!     --claims '{"app_metadata": {"person_id": "7"}}')
//! cargo run -p eventlane-outbox --example journal -- journal.db http://127.0.0.1:8787/api/events
//! ```
//!
//! Without a URL it stays offline: grades pile up in the file, and a later start with a URL sends them.
//! `[waiting to be sent]` and `[all sent]` are the drain signal. The journal is a best guess, read from
//! the view `eventlane_unfolded`: `…` is on this device only, `✓` is with the server, but perhaps not yet
//! in what an app syncs down.

use std::error::Error;
use std::io::{BufRead, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use eventlane_contracts::{Registry, Stream};
use eventlane_outbox::rusqlite::Connection;
use eventlane_outbox::{
    BEST_GUESS_SQL, Credentials, FlushOptions, Flusher, HttpTransport, Outbox, OutboxOptions, TokenError,
    TokenSource,
};
use serde_json::json;

/// Where the app talks to its user, from whichever thread.
type Screen = Arc<Mutex<dyn Write + Send>>;

#[cfg_attr(test, expect(dead_code, reason = "tests run the app itself"))]
fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let path = args.next().ok_or("usage: journal FILE [URL]")?;
    let tokens = |_refresh: bool| {
        let token = std::env::var("EVENTLANE_TOKEN");
        token.map(Credentials::bearer).map_err(|_| TokenError("EVENTLANE_TOKEN is not set".to_owned()))
    };
    let screen: Screen = Arc::new(Mutex::new(std::io::stdout()));
    run(&path, args.next().as_deref(), Arc::new(tokens), &mut std::io::stdin().lock(), &screen)
}

/// The app, from its first line to its last.
pub(crate) fn run(
    path: &str,
    url: Option<&str>,
    tokens: Arc<dyn TokenSource>,
    input: &mut dyn BufRead,
    screen: &Screen,
) -> Result<(), Box<dyn Error>> {
    let schema = json!({
        "type": "object",
        "properties": {
            "cardId": {"type": "string", "format": "uuid"},
            "grade": {"type": "integer", "minimum": 1, "maximum": 4}
        },
        "required": ["cardId", "grade"],
        "additionalProperties": false
    });
    let registry = Arc::new(Registry::define([Stream::json_schema("review_graded", schema)])?);
    // Acked reviews stay in the best guess for a while: longer than the way back down takes.
    let options = OutboxOptions { acked_retention: Duration::from_secs(300), ..OutboxOptions::default() };
    let outbox = Outbox::open(path, registry, options)?;
    if let Some(loss) = outbox.quarantined() {
        say(screen, &format!("the journal was damaged and is put aside as {}", loss.path.display()));
    }
    let reader = Connection::open(path)?;
    reader.execute_batch(BEST_GUESS_SQL)?;

    let signal = Arc::clone(screen);
    let _signal = outbox.on_status(move |status| {
        say(&signal, if status.empty { "[all sent]" } else { "[waiting to be sent]" });
    })?;
    let flusher = match url {
        Some(url) => {
            let transport = Arc::new(HttpTransport::new(url)?);
            Some(Flusher::new(outbox.clone(), FlushOptions::default(), transport, tokens)?)
        }
        None => None,
    };
    let driver = flusher.as_ref().map(Flusher::start).transpose()?;

    for line in input.lines() {
        let line = line?;
        if line.trim().is_empty() {
            show(&reader, screen)?;
            continue;
        }
        // Whatever is no number is the contract's to refuse, like a grade of 9.
        let grade = line.trim().parse::<i64>().map_or_else(|_| json!(line), |grade| json!(grade));
        let review = json!({"cardId": uuid::Uuid::now_v7(), "grade": grade});
        if let Err(error) = outbox.append("review_graded", &review) {
            say(screen, &format!("not kept: {error}"));
        }
    }
    if let Some(driver) = driver {
        let _ = driver.stop(Duration::from_secs(5));
    }
    // What the last moment brought. Offline it stays in the file, for the next start.
    if let Some(flusher) = flusher {
        let report = flusher.flush()?;
        for verdict in &report.verdicts {
            let text = format!("{} is {}: {}", verdict.event_id, verdict.status.as_str(), verdict.reason);
            say(screen, &text);
        }
        if let eventlane_outbox::PassEnd::Failed(fault) = report.end {
            say(screen, &format!("not sent now: {fault}"));
        }
    }
    show(&reader, screen)
}

fn say(screen: &Screen, text: &str) {
    let mut screen = screen.lock().unwrap_or_else(PoisonError::into_inner);
    // A screen that is gone has nobody to tell.
    drop(writeln!(screen, "{text}"));
}

/// Every review that the server's own list may not show yet.
fn show(reader: &Connection, screen: &Screen) -> Result<(), Box<dyn Error>> {
    let mut reviews = reader
        .prepare("SELECT payload ->> 'grade', acked_at_us IS NULL FROM eventlane_unfolded ORDER BY seq")?;
    let mut rows = reviews.query([])?;
    while let Some(row) = rows.next()? {
        let (grade, is_pending): (i64, bool) = (row.get(0)?, row.get(1)?);
        say(screen, &format!("{} {grade}", if is_pending { "…" } else { "✓" }));
    }
    Ok(())
}

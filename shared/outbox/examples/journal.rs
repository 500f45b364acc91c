//! A small desktop-style app: every line of stdin is a note, kept on disk and sent when it can be.
//!
//! ```sh
//! cargo run -p eventlane-outbox --example journal -- journal.db [https://host/api/events]
//! ```
//!
//! Without a URL it stays offline. The token is `EVENTLANE_TOKEN`. An empty line shows the best guess:
//! what the server will know once it has caught up.
#![expect(clippy::print_stdout, reason = "an app talks to its user on stdout")]

use std::error::Error;
use std::io::BufRead;
use std::sync::Arc;
use std::time::Duration;

use eventlane_contracts::{Registry, Stream};
use eventlane_outbox::rusqlite::Connection;
use eventlane_outbox::{
    BEST_GUESS_SQL, Credentials, FlushOptions, Flusher, HttpTransport, Outbox, OutboxOptions, TokenError,
};
use serde_json::json;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let path = args.next().ok_or("usage: journal FILE [URL]")?;
    let schema = json!({
        "type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"],
        "additionalProperties": false
    });
    let registry = Arc::new(Registry::define([Stream::json_schema("note_taken", schema)])?);
    // Acked notes stay in the best guess for a while: longer than the way back down takes.
    let options = OutboxOptions { acked_retention: Duration::from_secs(300), ..OutboxOptions::default() };
    let outbox = Outbox::open(&path, registry, options)?;
    if let Some(loss) = outbox.quarantined() {
        println!("the journal was damaged and is put aside as {}", loss.path.display());
    }
    let reader = Connection::open(&path)?;
    reader.execute_batch(BEST_GUESS_SQL)?;

    let _signal = outbox.on_status(|status| {
        println!("{}", if status.empty { "[all sent]" } else { "[waiting to be sent]" });
    })?;
    let driver = match args.next() {
        Some(url) => {
            let tokens = |_refresh: bool| {
                let token = std::env::var("EVENTLANE_TOKEN");
                token
                    .map(Credentials::bearer)
                    .map_err(|_| TokenError("EVENTLANE_TOKEN is not set".to_owned()))
            };
            let transport = Arc::new(HttpTransport::new(&url)?);
            Some(
                Flusher::new(outbox.clone(), FlushOptions::default(), transport, Arc::new(tokens))?
                    .start()?,
            )
        }
        None => None,
    };

    for line in std::io::stdin().lock().lines() {
        let line = line?;
        if line.trim().is_empty() {
            show(&reader)?;
        } else if let Err(error) = outbox.append("note_taken", &json!({ "text": line })) {
            println!("not kept: {error}");
        }
    }
    show(&reader)?;
    if let Some(driver) = driver {
        let _ = driver.stop(Duration::from_secs(5));
    }
    Ok(())
}

/// Every note that the server's own list may not show yet.
fn show(reader: &Connection) -> Result<(), Box<dyn Error>> {
    let mut notes = reader
        .prepare("SELECT payload ->> 'text', acked_at_us IS NULL FROM eventlane_unfolded ORDER BY seq")?;
    let mut rows = notes.query([])?;
    while let Some(row) = rows.next()? {
        let (text, is_pending): (String, bool) = (row.get(0)?, row.get(1)?);
        println!("{} {text}", if is_pending { "…" } else { "✓" });
    }
    Ok(())
}

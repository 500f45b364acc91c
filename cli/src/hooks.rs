//! What a local lane puts around the user's handler: a log of calls, and the faults of a test.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use eventlane_consumer::{Handler, HandlerError, SubBatch};
use eventlane_contracts::{Clock, SystemClock};
use rusqlite::Connection;

/// Faults that a test or the demo asks for.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Faults {
    /// After this many handled sub-batches say so on stdout and stand still, to be killed
    #[arg(long, hide = true)]
    pub(crate) hold_after: Option<u64>,
    /// Fail every sub-batch that holds this event
    #[arg(long, hide = true)]
    pub(crate) poison: Option<String>,
}

/// The user's handler with a note of each call in `handler_calls`, a table without a key, so that
/// nothing hides a second call.
pub(crate) struct Hooked {
    inner: Arc<dyn Handler>,
    calls: Mutex<Connection>,
    faults: Faults,
    handled: AtomicU64,
}

impl Hooked {
    pub(crate) fn new(inner: Arc<dyn Handler>, archive: &Path, faults: Faults) -> rusqlite::Result<Self> {
        let calls = Connection::open(archive)?;
        calls.busy_timeout(Duration::from_secs(10))?;
        calls.execute_batch(
            "CREATE TABLE IF NOT EXISTS handler_calls \
             (stream TEXT NOT NULL, event_id TEXT NOT NULL, attempt INTEGER NOT NULL, called_at_us INTEGER NOT NULL)",
        )?;
        Ok(Self { inner, calls: Mutex::new(calls), faults, handled: AtomicU64::new(0) })
    }

    fn note(&self, batch: &SubBatch) -> rusqlite::Result<()> {
        let now = SystemClock.now_us();
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let transaction = calls.transaction()?;
        for event in &batch.events {
            transaction.prepare_cached("INSERT INTO handler_calls VALUES (?1, ?2, ?3, ?4)")?.execute((
                batch.stream.as_str(),
                &event.event_id,
                batch.attempt,
                now,
            ))?;
        }
        transaction.commit()
    }

    /// Stands still for good once enough was handled: archived, not yet acked, with work left.
    async fn hold(&self) {
        let handled = self.handled.fetch_add(1, Ordering::SeqCst) + 1;
        let Some(after) = self.faults.hold_after else { return };
        if handled < after {
            return;
        }
        if handled == after {
            say(&format!("holding after {after} sub-batches"));
        }
        std::future::pending::<()>().await;
    }
}

#[async_trait]
impl Handler for Hooked {
    async fn handle(&self, batch: &SubBatch) -> Result<(), HandlerError> {
        // A handful of rows in a local file: not worth a thread of their own.
        self.note(batch)?;
        if let Some(poison) = &self.faults.poison
            && batch.events.iter().any(|event| event.event_id == *poison)
        {
            return Err(HandlerError::new("poison: this event fails its handler every time"));
        }
        self.inner.handle(batch).await?;
        self.hold().await;
        Ok(())
    }
}

/// One line on stdout, at once.
#[expect(clippy::print_stdout, reason = "stdout is where a command answers")]
pub(crate) fn say(line: &str) {
    println!("{line}");
}

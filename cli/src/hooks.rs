//! What a local lane puts around the user's handler: a log of calls, and the faults of a test.

use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context;
use async_trait::async_trait;
use eventlane_consumer::{Handler, HandlerError, SubBatch};
use eventlane_contracts::{Clock, SystemClock};
use rusqlite::{Connection, TransactionBehavior};

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
    calls: Arc<Mutex<Connection>>,
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
        Ok(Self { inner, calls: Arc::new(Mutex::new(calls)), faults, handled: AtomicU64::new(0) })
    }

    /// Notes the call, on a thread where waiting for the file harms nobody.
    async fn note(&self, batch: &SubBatch) -> Result<(), HandlerError> {
        let (calls, stream, attempt) = (Arc::clone(&self.calls), batch.stream.clone(), batch.attempt);
        let ids: Vec<String> = batch.events.iter().map(|event| event.event_id.clone()).collect();
        let noted = tokio::task::spawn_blocking(move || {
            let now = SystemClock.now_us();
            let mut calls = calls.lock().unwrap_or_else(PoisonError::into_inner);
            let transaction = calls.transaction_with_behavior(TransactionBehavior::Immediate)?;
            {
                let mut insert =
                    transaction.prepare_cached("INSERT INTO handler_calls VALUES (?1, ?2, ?3, ?4)")?;
                for id in &ids {
                    insert.execute((stream.as_str(), id, attempt, now))?;
                }
            }
            transaction.commit()
        });
        Ok(noted.await??)
    }

    /// Stands still for good once enough was handled: archived, not yet acked, with work left.
    async fn hold(&self) {
        let handled = self.handled.fetch_add(1, Ordering::SeqCst) + 1;
        let Some(after) = self.faults.hold_after else { return };
        if handled < after {
            return;
        }
        if handled == after {
            // Whoever waits for this line sees its absence.
            let _ = say(&format!("holding after {after} sub-batches"));
        }
        std::future::pending::<()>().await;
    }
}

#[async_trait]
impl Handler for Hooked {
    async fn handle(&self, batch: &SubBatch) -> Result<(), HandlerError> {
        self.note(batch).await?;
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
///
/// # Errors
/// When stdout can't be written. A reader that has gone away is none: it has heard enough.
pub(crate) fn say(line: &str) -> anyhow::Result<()> {
    match writeln!(std::io::stdout(), "{line}") {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(error).context("stdout can't be written")
        }
        _ => Ok(()),
    }
}

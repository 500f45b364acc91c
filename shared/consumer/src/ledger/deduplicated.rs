//! A handler behind a ledger: each event is handled once, as far as its marks reach.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use eventlane_contracts::QueuedEvent;
use futures::future::{Either, select};
use tracing::warn;
use uuid::Uuid;

use super::{Claim, Ledger};
use crate::deliver::call;
use crate::{Handler, HandlerError, SubBatch};

/// How long a done mark lasts: the dedupe horizon. A duplicate that comes later is handled again.
/// Far beyond what a queue and its dead letters keep (24 days together), to cover a client that was
/// offline for long and sends again what was acked.
pub const DONE_FOR: Duration = Duration::from_secs(90 * 24 * 60 * 60);

/// Hands a sub-batch's events to the inner handler unless they were handled.
///
/// Events that are done are left out; a sub-batch with nothing left is acked without a call. Events
/// that someone else is at send the sub-batch back for the rest of that mark, which counts as no
/// failure. The marks are renewed for as long as the handler works and expire with the message's
/// lease, so a process that dies blocks nothing for longer.
///
/// Not a transaction: a process that dies after the handler's work and before the marks handles the
/// events again.
pub struct Deduplicated {
    inner: Arc<dyn Handler>,
    ledger: Arc<dyn Ledger>,
    done_for: Duration,
}

impl Deduplicated {
    /// A handler behind a ledger, whose done marks last [`DONE_FOR`].
    #[must_use]
    pub fn new(inner: Arc<dyn Handler>, ledger: Arc<dyn Ledger>) -> Self {
        Self { inner, ledger, done_for: DONE_FOR }
    }

    /// Sets how long done marks last.
    #[must_use]
    pub fn with_done_for(mut self, done_for: Duration) -> Self {
        self.done_for = done_for;
        self
    }

    /// Calls the inner handler, renewing the marks beside it.
    async fn work(&self, batch: &SubBatch, owner: &str) -> Result<(), HandlerError> {
        let renewal = async {
            loop {
                tokio::time::sleep(batch.visibility / 2).await;
                match self.ledger.renew(&batch.stream, &batch.events, owner, batch.visibility).await {
                    Ok(true) => {}
                    Ok(false) => {
                        warn!(stream = %batch.stream, message_id = %batch.message_id, "marks are lost")
                    }
                    Err(error) => {
                        warn!(stream = %batch.stream, message_id = %batch.message_id, %error, "marks weren't renewed");
                    }
                }
            }
        };
        let renewal: futures::future::BoxFuture<'_, std::convert::Infallible> = Box::pin(renewal);
        match select(Box::pin(call(&*self.inner, batch)), renewal).await {
            Either::Left((answer, _)) => answer,
            Either::Right((never, _)) => match never {},
        }
    }

    async fn forget(&self, batch: &SubBatch, events: &[QueuedEvent], owner: &str) {
        if let Err(error) = self.ledger.forget(&batch.stream, events, owner).await {
            warn!(stream = %batch.stream, message_id = %batch.message_id, %error, "marks stay until they expire");
        }
    }

    /// Done marks for what was handled, none for what wasn't.
    async fn settle(
        &self,
        batch: &SubBatch,
        error: Option<&HandlerError>,
        owner: &str,
    ) -> Result<(), HandlerError> {
        let failed: BTreeSet<&str> =
            error.iter().flat_map(|error| error.failed_events()).map(String::as_str).collect();
        let all_failed = error.is_some() && failed.is_empty();
        let (open, done): (Vec<QueuedEvent>, Vec<QueuedEvent>) = batch
            .events
            .iter()
            .cloned()
            .partition(|event| all_failed || failed.contains(event.event_id.as_str()));
        if !open.is_empty() {
            self.forget(batch, &open, owner).await;
        }
        if !done.is_empty() {
            self.ledger.finish(&batch.stream, &done, owner, self.done_for).await?;
        }
        Ok(())
    }
}

#[async_trait]
impl Handler for Deduplicated {
    async fn handle(&self, batch: &SubBatch) -> Result<(), HandlerError> {
        let owner = Uuid::new_v4().to_string();
        let claims = self.ledger.begin(&batch.stream, &batch.events, &owner, batch.visibility).await;
        let claims = match claims {
            Ok(claims) => claims,
            Err(error) => {
                self.forget(batch, &batch.events, &owner).await;
                return Err(error.into());
            }
        };
        // An event that is in the sub-batch twice is handled once: the first of them.
        let mut seen = BTreeSet::new();
        let ours: Vec<QueuedEvent> = batch
            .events
            .iter()
            .zip(&claims)
            .filter(|(event, claim)| {
                **claim == Claim::Ours && seen.insert((&event.event_id, &event.identity))
            })
            .map(|(event, _)| event.clone())
            .collect();
        let busy = claims.iter().filter_map(|claim| match claim {
            Claim::Busy(rest) => Some(*rest),
            Claim::Ours | Claim::Done => None,
        });
        if let Some(rest) = busy.max() {
            self.forget(batch, &ours, &owner).await;
            return Err(HandlerError::busy(rest));
        }
        if ours.is_empty() {
            return Ok(());
        }
        let rest = SubBatch {
            stream: batch.stream.clone(),
            events: ours,
            attempt: batch.attempt,
            message_id: batch.message_id.clone(),
            visibility: batch.visibility,
        };
        match self.work(&rest, &owner).await {
            Ok(()) => self.settle(&rest, None, &owner).await,
            Err(error) => {
                let named_all = all_named(&rest.events, &error);
                self.settle(&rest, Some(&error), &owner).await?;
                // What is left out here was done: the failure is of the named, not of the whole.
                let is_part = rest.events.len() < batch.events.len() && error.busy_for().is_none();
                if is_part && (error.failed_events().is_empty() || named_all) {
                    let ids = rest.events.iter().map(|event| event.event_id.clone());
                    return Err(HandlerError::events(ids, error.reason()));
                }
                Err(error)
            }
        }
    }

    fn names_events(&self) -> bool {
        self.inner.names_events()
    }
}

fn all_named(events: &[QueuedEvent], error: &HandlerError) -> bool {
    events.iter().all(|event| error.failed_events().contains(&event.event_id))
}

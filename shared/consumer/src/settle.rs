//! Settling one delivery: ack, give back, dead-letter. Never deletes unfinished work.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use eventlane_contracts::StreamName;
use eventlane_queue::{Delivery, QueueError, Receipt, Unsettled};
use tracing::warn;

use crate::DeadLettered;
use crate::consumer::Core;
use crate::lease::Leases;

/// Tries of one settle whose queue doesn't answer; after that the lease lapses.
const TRIES: usize = 3;

impl Core {
    /// Says whether it worked. The handler is done with it; when it comes again, it is a duplicate
    /// and no loss.
    pub(crate) async fn ack(&self, stream: &StreamName, message_id: &str, receipt: Receipt) -> bool {
        let queue = &self.queue;
        let outcome = settle(receipt, |receipt| one(queue.ack(stream, vec![receipt]))).await;
        let acked = outcome.is_ok();
        self.unsettled("ack", stream, message_id, outcome);
        acked
    }

    pub(crate) async fn give_back(
        &self,
        stream: &StreamName,
        message_id: &str,
        receipt: Receipt,
        delay: Duration,
    ) {
        let queue = &self.queue;
        let outcome = settle(receipt, |receipt| one(queue.release(stream, vec![receipt], delay))).await;
        self.unsettled("release", stream, message_id, outcome);
    }

    /// Dead-letters with a hook and a warning; says whether it worked. When not, the lease lapses
    /// and the message comes again.
    pub(crate) async fn dead_letter(&self, delivery: Delivery, told: DeadLettered) -> bool {
        let message_id = delivery.id.clone();
        match self.queue.dead_letter(delivery, &told.reason, told.attempts).await {
            Ok(()) => {
                self.tell_dead_letter(&told);
                true
            }
            Err(unsettled) => {
                self.unsettled("dead-letter", &told.stream, &message_id, Err(unsettled.error));
                false
            }
        }
    }

    /// The warning, whatever the hook does, and the hook.
    pub(crate) fn tell_dead_letter(&self, told: &DeadLettered) {
        self.tallies.count(&told.stream, |tally| {
            tally.dead_lettered += 1;
            tally.events_dead_lettered += told.event_ids.len() as u64;
            tally.unreadable += u64::from(told.attempts == 0);
        });
        warn!(
            stream = %told.stream,
            message_id = %told.message_id,
            attempts = told.attempts,
            events = told.event_ids.len(),
            reason = %told.reason,
            "dead-lettered"
        );
        let Some(hook) = &self.hook else { return };
        if std::panic::catch_unwind(AssertUnwindSafe(|| hook(told))).is_err() {
            warn!(stream = %told.stream, message_id = %told.message_id, "the dead-letter hook panicked");
        }
    }

    /// Messages that were read and not started: back at once, and only what failed again.
    pub(crate) async fn release_unstarted(
        &self,
        stream: &StreamName,
        deliveries: Vec<Delivery>,
        leases: &Leases<'_>,
    ) {
        let mut left: Vec<(String, Receipt)> =
            deliveries.into_iter().map(|delivery| (delivery.id, delivery.receipt)).collect();
        for (_, receipt) in &left {
            leases.stop(receipt).await;
        }
        if !left.is_empty() {
            self.tallies.count(stream, |tally| tally.released += left.len() as u64);
        }
        for tries in 1..=TRIES {
            if left.is_empty() {
                return;
            }
            let (ids, receipts): (Vec<String>, Vec<Receipt>) = left.drain(..).unzip();
            let outcomes = self.queue.release(stream, receipts, Duration::ZERO).await;
            for (id, outcome) in ids.into_iter().zip(outcomes) {
                match outcome {
                    Ok(()) => {}
                    Err(unsettled) if unsettled.error.is_retryable() && tries < TRIES => {
                        left.push((id, unsettled.receipt));
                    }
                    Err(unsettled) => self.unsettled("release", stream, &id, Err(unsettled.error)),
                }
            }
        }
    }

    fn unsettled(&self, act: &str, stream: &StreamName, message_id: &str, outcome: Result<(), QueueError>) {
        let Err(error) = outcome else { return };
        self.tallies.count(stream, |tally| match error {
            QueueError::Lapsed => tally.lapsed += 1,
            QueueError::Unavailable(_) | QueueError::Queue(_) => tally.unsettled += 1,
        });
        warn!(%stream, %message_id, tag = error.tag(), "{act} failed; the message will come again");
    }
}

async fn settle<F>(mut receipt: Receipt, mut act: impl FnMut(Receipt) -> F) -> Result<(), QueueError>
where
    F: Future<Output = Result<(), Unsettled>>,
{
    let mut tries = 1;
    loop {
        match act(receipt).await {
            Ok(()) => return Ok(()),
            Err(unsettled) if unsettled.error.is_retryable() && tries < TRIES => receipt = unsettled.receipt,
            Err(unsettled) => return Err(unsettled.error),
        }
        tries += 1;
    }
}

/// The outcome of a call about one message; one that the queue leaves out settles nothing.
async fn one(call: impl Future<Output = Vec<Result<(), Unsettled>>>) -> Result<(), Unsettled> {
    call.await.pop().unwrap_or_else(|| {
        Err(Unsettled { receipt: Receipt::from_handle(String::new()), error: QueueError::Lapsed })
    })
}

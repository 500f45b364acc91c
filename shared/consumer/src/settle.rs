//! Settling one delivery: ack, give back, dead-letter. Never deletes unfinished work.

use std::future::Future;
use std::time::Duration;

use eventlane_contracts::StreamName;
use eventlane_queue::{Delivery, QueueError, Receipt, Unsettled};
use tracing::warn;

use crate::{DeadLettered, EventConsumer};

/// Tries of one settle whose queue doesn't answer; after that the lease lapses.
const TRIES: usize = 3;

impl EventConsumer {
    pub(crate) async fn ack(&self, stream: &StreamName, message_id: &str, receipt: Receipt) {
        let queue = &self.queue;
        let outcome = settle(receipt, |receipt| one(queue.ack(stream, vec![receipt]))).await;
        // The handler is done with it; when it comes again, it is a duplicate and no loss.
        warn_unsettled("ack", stream, message_id, outcome);
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
        warn_unsettled("release", stream, message_id, outcome);
    }

    /// Dead-letters with a hook and a warning; says whether it worked. When not, the lease lapses
    /// and the message comes again.
    pub(crate) async fn dead_letter(&self, delivery: Delivery, told: DeadLettered) -> bool {
        let message_id = delivery.id.clone();
        match self.queue.dead_letter(delivery, &told.reason, told.attempts).await {
            Ok(()) => {
                warn!(
                    stream = %told.stream,
                    message = %message_id,
                    attempts = told.attempts,
                    events = told.event_ids.len(),
                    reason = %told.reason,
                    "dead-lettered"
                );
                if let Some(hook) = &self.hook {
                    hook(&told);
                }
                true
            }
            Err(unsettled) => {
                warn_unsettled("dead-letter", &told.stream, &message_id, Err(unsettled.error));
                false
            }
        }
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

fn warn_unsettled(act: &str, stream: &StreamName, message_id: &str, outcome: Result<(), QueueError>) {
    if let Err(error) = outcome {
        warn!(%stream, message = %message_id, tag = error.tag(), "{act} failed; the message will come again");
    }
}

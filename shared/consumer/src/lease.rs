//! Leases: every message that is held and not settled is renewed at half its visibility.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use eventlane_contracts::StreamName;
use eventlane_queue::{Consumer, Delivery, Lease, QueueError};
use tracing::warn;

/// The leases of one stream's read.
pub(crate) struct Leases<'a> {
    queue: &'a dyn Consumer,
    stream: &'a StreamName,
    visibility: Duration,
    held: Mutex<BTreeMap<String, Lease>>,
}

impl<'a> Leases<'a> {
    pub(crate) fn hold(
        queue: &'a dyn Consumer,
        stream: &'a StreamName,
        visibility: Duration,
        deliveries: &[Delivery],
    ) -> Self {
        let held =
            deliveries.iter().map(|delivery| (delivery.id.clone(), delivery.receipt.lease())).collect();
        Self { queue, stream, visibility, held: Mutex::new(held) }
    }

    /// Stops renewing a message, because it is about to be settled or to lapse.
    pub(crate) fn stop(&self, message_id: &str) {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).remove(message_id);
    }

    /// Renews for ever; dropped when the read's work is done.
    pub(crate) async fn renew(&self) -> std::convert::Infallible {
        loop {
            tokio::time::sleep(self.visibility / 2).await;
            let held: Vec<(String, Lease)> = {
                let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
                held.iter().map(|(id, lease)| (id.clone(), lease.clone())).collect()
            };
            if held.is_empty() {
                continue;
            }
            let leases: Vec<Lease> = held.iter().map(|(_, lease)| lease.clone()).collect();
            let outcomes = self.queue.extend(self.stream, &leases, self.visibility).await;
            for ((id, _), outcome) in held.into_iter().zip(outcomes) {
                match outcome {
                    Ok(()) => {}
                    // Past the queue's cap, or taken by someone else: renewing is over, the work is
                    // not, and it isn't deleted.
                    Err(QueueError::Lapsed | QueueError::Queue(_)) => self.stop(&id),
                    Err(error) => {
                        warn!(stream = %self.stream, message = %id, tag = error.tag(), "a lease wasn't renewed");
                    }
                }
            }
        }
    }
}

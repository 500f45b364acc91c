//! Leases: every message that is held and not settled is renewed at half its visibility.
//!
//! Waiting messages too, from the moment they were received. A renewal that the queue didn't answer
//! is tried again well before the lease ends, and only that one.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use eventlane_contracts::StreamName;
use eventlane_queue::{Consumer, Delivery, Lease, QueueError};
use tokio::time::Instant;
use tracing::warn;

/// The leases of one stream's read.
pub(crate) struct Leases<'a> {
    queue: &'a dyn Consumer,
    stream: &'a StreamName,
    visibility: Duration,
    held: Mutex<BTreeMap<String, Held>>,
    /// Held while the queue is asked to extend.
    renewing: tokio::sync::Mutex<()>,
}

#[derive(Debug, Clone)]
struct Held {
    lease: Lease,
    renew_at: Instant,
}

impl<'a> Leases<'a> {
    pub(crate) fn hold(
        queue: &'a dyn Consumer,
        stream: &'a StreamName,
        visibility: Duration,
        deliveries: &[Delivery],
    ) -> Self {
        let renew_at = Instant::now() + visibility / 2;
        let held = deliveries
            .iter()
            .map(|delivery| (delivery.id.clone(), Held { lease: delivery.receipt.lease(), renew_at }))
            .collect();
        Self { queue, stream, visibility, held: Mutex::new(held), renewing: tokio::sync::Mutex::new(()) }
    }

    /// Stops renewing a message, because it is about to be settled or to lapse. Waits for a renewal
    /// under way: one that lands after a release would hide the message for a whole lease.
    pub(crate) async fn stop(&self, message_id: &str) {
        let _none_under_way = self.renewing.lock().await;
        self.held().remove(message_id);
    }

    /// Renews for ever; dropped when the read's work is done.
    pub(crate) async fn renew(&self) -> std::convert::Infallible {
        loop {
            let next = self.held().values().map(|held| held.renew_at).min();
            let at = next.unwrap_or_else(|| Instant::now() + self.visibility / 2);
            tokio::time::sleep_until(at).await;
            self.renew_due(Instant::now()).await;
        }
    }

    async fn renew_due(&self, now: Instant) {
        let _under_way = self.renewing.lock().await;
        let due: Vec<(String, Lease)> = {
            let held = self.held();
            let due = held.iter().filter(|(_, held)| held.renew_at <= now);
            due.map(|(id, held)| (id.clone(), held.lease.clone())).collect()
        };
        if due.is_empty() {
            return;
        }
        let leases: Vec<Lease> = due.iter().map(|(_, lease)| lease.clone()).collect();
        let mut outcomes = self.queue.extend(self.stream, &leases, self.visibility).await.into_iter();
        for (id, _) in due {
            let missing = || Err(QueueError::Unavailable("not listed".to_owned()));
            match outcomes.next().unwrap_or_else(missing) {
                Ok(()) => self.renew_again(&id, self.visibility / 2),
                // Past the queue's cap, or taken by someone else: renewing is over, the work is
                // not, and it isn't deleted.
                Err(error @ (QueueError::Lapsed | QueueError::Queue(_))) => {
                    warn!(stream = %self.stream, message = %id, tag = error.tag(), "a lease is lost");
                    self.held().remove(&id);
                }
                Err(error) => {
                    warn!(stream = %self.stream, message = %id, tag = error.tag(), "a lease wasn't renewed");
                    self.renew_again(&id, self.visibility / 10);
                }
            }
        }
    }

    fn renew_again(&self, message_id: &str, after: Duration) {
        if let Some(held) = self.held().get_mut(message_id) {
            held.renew_at = Instant::now() + after;
        }
    }

    fn held(&self) -> MutexGuard<'_, BTreeMap<String, Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

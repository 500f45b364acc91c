//! Leases: every message that is held and not settled is renewed at half its visibility.
//!
//! Waiting messages too, from the moment they were received. A renewal that the queue didn't answer
//! is tried again well before the lease ends, and only that one.
//!
//! A lease is known by its receipt: a queue may hand out the same message twice in one read.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use eventlane_contracts::StreamName;
use eventlane_queue::{Consumer, Delivery, Lease, QueueError, Receipt};
use tokio::time::Instant;
use tracing::warn;

/// The leases of one stream's read.
pub(crate) struct Leases<'a> {
    queue: &'a dyn Consumer,
    stream: &'a StreamName,
    visibility: Duration,
    /// By the receipt's handle.
    held: Mutex<BTreeMap<String, Held>>,
    lost: AtomicU64,
    /// Held while the queue is asked to extend.
    renewing: tokio::sync::Mutex<()>,
}

#[derive(Debug, Clone)]
struct Held {
    message_id: String,
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
        let held = deliveries.iter().map(|delivery| {
            let (message_id, lease) = (delivery.id.clone(), delivery.receipt.lease());
            (delivery.receipt.handle().to_owned(), Held { message_id, lease, renew_at })
        });
        Self {
            queue,
            stream,
            visibility,
            held: Mutex::new(held.collect()),
            lost: AtomicU64::new(0),
            renewing: tokio::sync::Mutex::new(()),
        }
    }

    /// Stops renewing a message, because it is about to be settled or to lapse. Waits for a renewal
    /// under way: one that lands after a release would hide the message for a whole lease.
    pub(crate) async fn stop(&self, receipt: &Receipt) {
        self.stop_lease(&receipt.lease()).await;
    }

    /// The same, where the receipt is gone already.
    pub(crate) async fn stop_lease(&self, lease: &Lease) {
        let _none_under_way = self.renewing.lock().await;
        self.held().remove(lease.handle());
    }

    /// Leases that were over before their work was.
    pub(crate) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
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
        let due: Vec<Held> = self.held().values().filter(|held| held.renew_at <= now).cloned().collect();
        if due.is_empty() {
            return;
        }
        let leases: Vec<Lease> = due.iter().map(|held| held.lease.clone()).collect();
        let mut outcomes = self.queue.extend(self.stream, &leases, self.visibility).await.into_iter();
        for Held { message_id: id, lease, .. } in due {
            let missing = || Err(QueueError::Unavailable("not listed".to_owned()));
            match outcomes.next().unwrap_or_else(missing) {
                Ok(()) => self.renew_again(&lease, self.visibility / 2),
                // Past the queue's cap, or taken by someone else: renewing is over, the work is
                // not, and it isn't deleted.
                Err(error @ (QueueError::Lapsed | QueueError::Queue(_))) => {
                    warn!(stream = %self.stream, message_id = %id, tag = error.tag(), "a lease is lost");
                    self.lost.fetch_add(1, Ordering::Relaxed);
                    self.held().remove(lease.handle());
                }
                Err(error) => {
                    warn!(stream = %self.stream, message_id = %id, tag = error.tag(), "a lease wasn't renewed");
                    self.renew_again(&lease, self.visibility / 10);
                }
            }
        }
    }

    fn renew_again(&self, lease: &Lease, after: Duration) {
        if let Some(held) = self.held().get_mut(lease.handle()) {
            held.renew_at = Instant::now() + after;
        }
    }

    fn held(&self) -> MutexGuard<'_, BTreeMap<String, Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! The real queue with a script of faults before it, each counted down as it happens.

use std::collections::VecDeque;
use std::sync::Mutex;

use async_trait::async_trait;
use eventlane_queue::{
    Choice, Consumer, DeadLetterPage, Delivery, Discarded, EmbeddedQueue, EnqueueError, Lease, Producer,
    QueueError, Receipt, Requeued, Unsettled,
};

use super::*;

/// Which entries of a call fail, and how.
pub(super) type Entries = Vec<Option<QueueError>>;

pub(super) struct Faulty {
    queue: EmbeddedQueue,
    pub(super) acks: Mutex<VecDeque<Entries>>,
    pub(super) releases: Mutex<VecDeque<Entries>>,
    pub(super) extends: Mutex<VecDeque<Entries>>,
    pub(super) reads: Mutex<VecDeque<QueueError>>,
    pub(super) sends: Mutex<VecDeque<EnqueueError>>,
    /// The stream of each read so far.
    pub(super) asked: Mutex<Vec<String>>,
    /// Entries of each release and each extension so far.
    pub(super) released: Mutex<Vec<usize>>,
    pub(super) extended: Mutex<Vec<usize>>,
    pub(super) counts: Mutex<Option<QueueCounts>>,
}

pub(super) fn down() -> QueueError {
    QueueError::Unavailable("InternalError".into())
}

impl Faulty {
    pub(super) fn on(bench: &Bench) -> Arc<Self> {
        Arc::new(Self {
            queue: bench.queue.clone(),
            acks: Mutex::default(),
            releases: Mutex::default(),
            extends: Mutex::default(),
            reads: Mutex::default(),
            sends: Mutex::default(),
            asked: Mutex::default(),
            released: Mutex::default(),
            extended: Mutex::default(),
            counts: Mutex::default(),
        })
    }
}

fn next<T>(script: &Mutex<VecDeque<T>>) -> Option<T> {
    script.lock().unwrap().pop_front()
}

/// The call's faults; entries that aren't scripted pass.
fn faults(script: &Mutex<VecDeque<Entries>>, count: usize) -> Entries {
    let mut entries = next(script).unwrap_or_default();
    entries.resize(count, None);
    entries
}

type Settles = Vec<Result<(), Unsettled>>;

#[async_trait]
impl Consumer for Faulty {
    async fn receive(
        &self,
        stream: &StreamName,
        max: usize,
        visibility: Duration,
        wait: Duration,
    ) -> Result<Vec<Delivery>, QueueError> {
        self.asked.lock().unwrap().push(stream.to_string());
        match next(&self.reads) {
            Some(error) => Err(error),
            None => self.queue.receive(stream, max, visibility, wait).await,
        }
    }

    async fn extend(
        &self,
        stream: &StreamName,
        leases: &[Lease],
        visibility: Duration,
    ) -> Vec<Result<(), QueueError>> {
        self.extended.lock().unwrap().push(leases.len());
        let mut outcomes = Vec::new();
        for (lease, fault) in leases.iter().zip(faults(&self.extends, leases.len())) {
            outcomes.push(match fault {
                Some(error) => Err(error),
                None => self.queue.extend(stream, std::slice::from_ref(lease), visibility).await.remove(0),
            });
        }
        outcomes
    }

    async fn ack(&self, stream: &StreamName, receipts: Vec<Receipt>) -> Settles {
        let faults = faults(&self.acks, receipts.len());
        let mut outcomes = Vec::new();
        for (receipt, fault) in receipts.into_iter().zip(faults) {
            outcomes.push(match fault {
                Some(error) => Err(Unsettled { receipt, error }),
                None => self.queue.ack(stream, vec![receipt]).await.remove(0),
            });
        }
        outcomes
    }

    async fn release(&self, stream: &StreamName, receipts: Vec<Receipt>, delay: Duration) -> Settles {
        self.released.lock().unwrap().push(receipts.len());
        let faults = faults(&self.releases, receipts.len());
        let mut outcomes = Vec::new();
        for (receipt, fault) in receipts.into_iter().zip(faults) {
            outcomes.push(match fault {
                Some(error) => Err(Unsettled { receipt, error }),
                None => self.queue.release(stream, vec![receipt], delay).await.remove(0),
            });
        }
        outcomes
    }

    async fn dead_letter(&self, delivery: Delivery, reason: &str, attempts: u32) -> Result<(), Unsettled> {
        self.queue.dead_letter(delivery, reason, attempts).await
    }

    async fn dead_letters(&self, stream: &StreamName, limit: usize) -> Result<DeadLetterPage, QueueError> {
        self.queue.dead_letters(stream, limit).await
    }

    async fn requeue(
        &self,
        stream: &StreamName,
        choose: &Choice<'_>,
        limit: usize,
    ) -> Result<Requeued, QueueError> {
        self.queue.requeue(stream, choose, limit).await
    }

    async fn discard(
        &self,
        stream: &StreamName,
        choose: &Choice<'_>,
        limit: usize,
    ) -> Result<Discarded, QueueError> {
        self.queue.discard(stream, choose, limit).await
    }

    async fn put_dead_letter(&self, stream: &StreamName, message: &Message) -> Result<(), QueueError> {
        self.queue.put_dead_letter(stream, message).await
    }

    async fn counts(&self, stream: &StreamName) -> Result<QueueCounts, QueueError> {
        let scripted = *self.counts.lock().unwrap();
        match scripted {
            Some(counts) => Ok(counts),
            None => self.queue.counts(stream).await,
        }
    }
}

#[async_trait]
impl Producer for Faulty {
    async fn enqueue(&self, stream: &StreamName, messages: &[Message]) -> Vec<Result<(), EnqueueError>> {
        match next(&self.sends) {
            Some(error) => vec![Err(error); messages.len()],
            None => self.queue.enqueue(stream, messages).await,
        }
    }

    async fn enqueue_after(
        &self,
        stream: &StreamName,
        message: &Message,
        delay: Duration,
    ) -> Result<(), EnqueueError> {
        match next(&self.sends) {
            Some(error) => Err(error),
            None => self.queue.enqueue_after(stream, message, delay).await,
        }
    }
}

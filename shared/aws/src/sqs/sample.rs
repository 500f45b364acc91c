//! SQS can't browse: a queue is looked at by receiving from it, round after round, and giving back.

use std::collections::HashSet;
use std::time::Duration;

use aws_sdk_sqs::types::Message;
use eventlane_queue::{QueueError, Receipt};

use super::receive::poll;
use super::{SqsQueue, settle};

/// How long a message looked at stays hidden if it can't be given back.
const VISIBILITY: Duration = Duration::from_secs(30);

/// A long poll asks every server of the queue, where a short one may miss messages.
const WAIT: Duration = Duration::from_secs(2);

/// Rounds at most, of up to ten messages each: a look ends, however large the queue.
const ROUNDS: usize = 1_000;

/// A look at one queue. What it takes it holds until [`Sample::give_back`].
pub(super) struct Sample<'a> {
    queue: &'a SqsQueue,
    url: String,
    seen: HashSet<String>,
    held: Vec<Receipt>,
    rounds: usize,
}

impl<'a> Sample<'a> {
    pub(super) fn new(queue: &'a SqsQueue, url: String) -> Self {
        Self { queue, url, seen: HashSet::new(), held: Vec::new(), rounds: 0 }
    }

    /// The next messages not seen yet, each with its receipt; none when there is nothing new.
    pub(super) async fn next(&mut self, max: usize) -> Result<Vec<(Message, Receipt)>, QueueError> {
        if self.rounds == ROUNDS {
            return Ok(Vec::new());
        }
        self.rounds += 1;
        let mut fresh = Vec::new();
        for mut message in poll(self.queue, &self.url, max, VISIBILITY, WAIT).await? {
            let Some(receipt) = message.receipt_handle.take().map(Receipt::from_handle) else { continue };
            let id = message.message_id.clone().unwrap_or_default();
            if self.seen.insert(id) { fresh.push((message, receipt)) } else { self.held.push(receipt) }
        }
        Ok(fresh)
    }

    /// Keeps a message hidden until the look is over.
    pub(super) fn hold(&mut self, receipt: Receipt) {
        self.held.push(receipt);
    }

    /// Makes everything held visible again.
    pub(super) async fn give_back(self) {
        let handles = settle::handles(&self.held);
        let outcomes = settle::change_visibility(self.queue, &self.url, &handles, Duration::ZERO).await;
        // One that has lapsed is visible already.
        let hidden = outcomes.iter().filter(|one| matches!(one, Err(error) if *error != QueueError::Lapsed));
        let hidden = hidden.count();
        if hidden > 0 {
            tracing::warn!(hidden, "dead letters that were looked at stay hidden for up to 30 s");
        }
    }
}

//! Receive, extend, ack and release on the embedded queue.

use std::time::Duration;

use async_trait::async_trait;
use eventlane_contracts::StreamName;
use rusqlite::types::ValueRef;
use rusqlite::{Row, Transaction};
use tokio::time::{Instant, timeout_at};
use uuid::Uuid;

use super::{EmbeddedQueue, after, counts, dead};
use crate::{
    Attributes, Choice, Consumer, DeadLetterPage, Delivery, Discarded, Lease, Message, QueueCounts,
    QueueError, Receipt, Requeued, Unsettled,
};

/// How often a waiting receive looks for what another process enqueued, or for a lapsed lease.
const POLL: Duration = Duration::from_millis(50);

/// The longest lease, as on SQS. A message that is hidden for longer was hidden by a clock that has
/// jumped back since, and counts as visible.
const MAX_VISIBILITY: Duration = Duration::from_secs(43_200);

#[async_trait]
impl Consumer for EmbeddedQueue {
    async fn receive(
        &self,
        stream: &StreamName,
        max: usize,
        visibility: Duration,
        wait: Duration,
    ) -> Result<Vec<Delivery>, QueueError> {
        let deadline = Instant::now() + wait;
        loop {
            // Registered before the look, so that nothing enqueued in between is slept over.
            let enqueued = self.inner.enqueued.notified();
            let deliveries = self.lease(stream, max, visibility).await?;
            if !deliveries.is_empty() || Instant::now() >= deadline {
                return Ok(deliveries);
            }
            // Either way the next look decides.
            let _ = timeout_at(deadline.min(Instant::now() + POLL), enqueued).await;
        }
    }

    async fn extend(
        &self,
        stream: &StreamName,
        leases: &[Lease],
        visibility: Duration,
    ) -> Vec<Result<(), QueueError>> {
        let handles = leases.iter().map(|lease| lease.handle().to_owned()).collect();
        self.move_leases(stream, handles, visibility).await
    }

    async fn ack(&self, stream: &StreamName, receipts: Vec<Receipt>) -> Vec<Result<(), Unsettled>> {
        let handles: Vec<String> = receipts.iter().map(|receipt| receipt.handle().to_owned()).collect();
        let changed = self
            .in_transaction(stream, move |transaction, _| {
                each(&handles, |handle| {
                    transaction.prepare_cached("DELETE FROM messages WHERE receipt = ?1")?.execute([handle])
                })
            })
            .await;
        settled(receipts, outcomes(changed))
    }

    async fn release(
        &self,
        stream: &StreamName,
        receipts: Vec<Receipt>,
        delay: Duration,
    ) -> Vec<Result<(), Unsettled>> {
        let handles = receipts.iter().map(|receipt| receipt.handle().to_owned()).collect();
        let outcomes = self.move_leases(stream, handles, delay).await;
        if delay.is_zero() {
            self.inner.enqueued.notify_waiters();
        }
        settled(receipts, outcomes)
    }

    async fn dead_letter(&self, delivery: Delivery, reason: &str, attempts: u32) -> Result<(), Unsettled> {
        dead::bury(self, delivery, reason, attempts).await
    }

    async fn dead_letters(&self, stream: &StreamName, limit: usize) -> Result<DeadLetterPage, QueueError> {
        dead::list(self, stream, limit).await
    }

    async fn requeue(
        &self,
        stream: &StreamName,
        choose: &Choice<'_>,
        limit: usize,
    ) -> Result<Requeued, QueueError> {
        dead::requeue(self, stream, choose, limit).await
    }

    async fn discard(
        &self,
        stream: &StreamName,
        choose: &Choice<'_>,
        limit: usize,
    ) -> Result<Discarded, QueueError> {
        dead::discard(self, stream, choose, limit).await
    }

    async fn put_dead_letter(&self, stream: &StreamName, message: &Message) -> Result<(), QueueError> {
        dead::put(self, stream, message).await
    }

    async fn counts(&self, stream: &StreamName) -> Result<QueueCounts, QueueError> {
        counts::counts(self, stream).await
    }
}

impl EmbeddedQueue {
    async fn lease(
        &self,
        stream: &StreamName,
        max: usize,
        visibility: Duration,
    ) -> Result<Vec<Delivery>, QueueError> {
        let (name, now) = (stream.clone(), self.inner.clock.now_us());
        self.in_transaction(stream, move |transaction, stream| {
            let mut choose = transaction.prepare_cached(
                "SELECT seq FROM messages WHERE stream = ?1 AND (visible_at_us <= ?2 OR visible_at_us > ?3) \
                 ORDER BY visible_at_us, seq LIMIT ?4",
            )?;
            let chosen: Vec<i64> = choose
                .query_map((stream, now, after(now, MAX_VISIBILITY), max), |row| row.get(0))?
                .collect::<Result<_, _>>()?;
            chosen
                .into_iter()
                .map(|seq| lease_one(transaction, seq, now, after(now, visibility), &name))
                .collect()
        })
        .await
    }

    /// Sets when leased messages become visible.
    async fn move_leases(
        &self,
        stream: &StreamName,
        handles: Vec<String>,
        delay: Duration,
    ) -> Vec<Result<(), QueueError>> {
        let (count, now) = (handles.len(), self.inner.clock.now_us());
        let changed = self
            .in_transaction(stream, move |transaction, _| {
                each(&handles, |handle| {
                    transaction
                        // A lease that is over but not taken by anyone else may still be moved.
                        .prepare_cached("UPDATE messages SET visible_at_us = ?2 WHERE receipt = ?1")?
                        .execute((handle, after(now, delay)))
                })
            })
            .await;
        let mut outcomes = outcomes(changed);
        outcomes.resize(count, outcomes.last().cloned().unwrap_or(Ok(())));
        outcomes
    }
}

fn lease_one(
    transaction: &Transaction<'_>,
    seq: i64,
    now: i64,
    visible_at: i64,
    stream: &StreamName,
) -> rusqlite::Result<Delivery> {
    // A fresh receipt each time: the one before is worth nothing from here on.
    let receipt = Uuid::new_v4().to_string();
    transaction
        .prepare_cached(
            "UPDATE messages SET visible_at_us = ?2, receipt = ?3, receive_count = receive_count + 1, \
             first_received_us = coalesce(first_received_us, ?4) WHERE seq = ?1 \
             RETURNING id, body, attributes, receive_count, first_received_us",
        )?
        .query_row((seq, visible_at, &receipt, now), |row| {
            Ok(Delivery {
                id: row.get(0)?,
                stream: stream.clone(),
                body: body(row, 1)?,
                attributes: attributes(row, 2)?,
                receive_count: row.get(3)?,
                first_received_us: row.get(4)?,
                receipt: Receipt(receipt.clone()),
            })
        })
}

/// A body as text. What isn't text was put in by hand: it reads as something no one can parse, so
/// that the consumer dead-letters it and goes on.
pub(super) fn body(row: &Row<'_>, column: usize) -> rusqlite::Result<String> {
    Ok(match row.get_ref(column)? {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => String::new(),
    })
}

/// Attributes; unreadable ones are of no known version, so that one row never stops a stream.
pub(super) fn attributes(row: &Row<'_>, column: usize) -> rusqlite::Result<Attributes> {
    let text = body(row, column)?;
    Ok(serde_json::from_str(&text).unwrap_or(Attributes { version: 0, ..Attributes::default() }))
}

fn each(
    handles: &[String],
    mut change: impl FnMut(&str) -> rusqlite::Result<usize>,
) -> rusqlite::Result<Vec<usize>> {
    handles.iter().map(|handle| change(handle)).collect()
}

/// One outcome a handle: a lease that changed no row is over.
fn outcomes(changed: Result<Vec<usize>, QueueError>) -> Vec<Result<(), QueueError>> {
    match changed {
        Ok(rows) => {
            rows.into_iter().map(|rows| if rows == 1 { Ok(()) } else { Err(QueueError::Lapsed) }).collect()
        }
        Err(error) => vec![Err(error)],
    }
}

/// Pairs receipts with outcomes; one outcome for all when the whole call failed.
fn settled(receipts: Vec<Receipt>, outcomes: Vec<Result<(), QueueError>>) -> Vec<Result<(), Unsettled>> {
    let whole = outcomes.last().cloned().unwrap_or(Ok(()));
    let mut outcomes = outcomes.into_iter();
    receipts
        .into_iter()
        .map(|receipt| {
            let outcome = outcomes.next().unwrap_or_else(|| whole.clone());
            outcome.map_err(|error| Unsettled { receipt, error })
        })
        .collect()
}

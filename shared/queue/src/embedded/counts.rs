//! Counts of the embedded queue.

use std::time::Duration;

use eventlane_contracts::StreamName;

use super::EmbeddedQueue;
use crate::{QueueCounts, QueueError};

pub(super) async fn counts(queue: &EmbeddedQueue, stream: &StreamName) -> Result<QueueCounts, QueueError> {
    let now = queue.inner.clock.now_us();
    queue
        .in_transaction(stream, move |transaction, stream| {
            let sql = "SELECT count(*) FILTER (WHERE visible_at_us <= ?2), \
                       count(*) FILTER (WHERE visible_at_us > ?2), min(enqueued_at_us), \
                       (SELECT count(*) FROM dead_letters WHERE stream = ?1) FROM messages WHERE stream = ?1";
            transaction.query_row(sql, (stream, now), |row| {
                let oldest: Option<i64> = row.get(2)?;
                // A message from the future, after a clock jumped back, is new.
                let age = |at: i64| Duration::from_micros(u64::try_from(now.saturating_sub(at)).unwrap_or(0));
                Ok(QueueCounts {
                    waiting: row.get(0)?,
                    in_flight: row.get(1)?,
                    dead_letters: row.get(3)?,
                    oldest_age: oldest.map(age),
                    in_flight_cap: None,
                })
            })
        })
        .await
}

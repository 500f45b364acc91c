//! Dead letters of the embedded queue.

use eventlane_contracts::{StreamName, text};
use rusqlite::Row;
use uuid::Uuid;

use super::EmbeddedQueue;
use super::consume::{attributes, body};
use crate::{
    Attributes, Choice, DeadLetter, DeadLetterPage, Delivery, Discarded, Message, QueueError, Requeued,
    Unsettled,
};

/// More letters than a file holds.
const ALL: usize = u32::MAX as usize;

/// Copy and delete in one transaction.
pub(super) async fn bury(
    queue: &EmbeddedQueue,
    delivery: Delivery,
    reason: &str,
    attempts: u32,
) -> Result<(), Unsettled> {
    let Delivery { stream, attributes, first_received_us, receipt, .. } = delivery;
    let attributes = Attributes {
        reason: Some(text::dead_letter_reason(reason)),
        attempts: Some(attempts),
        first_received_us: Some(first_received_us),
        dead_lettered_us: Some(queue.inner.clock.now_us()),
        ..attributes
    };
    let (handle, id) = (receipt.handle().to_owned(), Uuid::now_v7().to_string());
    // A struct of numbers and texts always serialises.
    let attributes = serde_json::to_string(&attributes).unwrap_or_default();
    let moved = queue
        .in_transaction(&stream, move |transaction, _| {
            transaction.execute(
                "INSERT INTO dead_letters (id, stream, body, attributes) \
                 SELECT ?2, stream, body, ?3 FROM messages WHERE receipt = ?1",
                (&handle, id, attributes),
            )?;
            transaction.execute("DELETE FROM messages WHERE receipt = ?1", [&handle])
        })
        .await;
    match moved {
        Ok(1) => Ok(()),
        Ok(_) => Err(Unsettled { receipt, error: QueueError::Lapsed }),
        Err(error) => Err(Unsettled { receipt, error }),
    }
}

pub(super) async fn list(
    queue: &EmbeddedQueue,
    stream: &StreamName,
    limit: usize,
) -> Result<DeadLetterPage, QueueError> {
    queue
        .in_transaction(stream, move |transaction, stream| {
            // One more than asked for tells whether that is all.
            let mut select = transaction.prepare_cached(
                "SELECT id, body, attributes FROM dead_letters WHERE stream = ?1 ORDER BY seq LIMIT ?2",
            )?;
            let mut letters: Vec<DeadLetter> =
                select.query_map((stream, limit.saturating_add(1)), letter)?.collect::<Result<_, _>>()?;
            let complete = letters.len() <= limit;
            letters.truncate(limit);
            Ok(DeadLetterPage { letters, complete })
        })
        .await
}

pub(super) async fn requeue(
    queue: &EmbeddedQueue,
    stream: &StreamName,
    choose: &Choice<'_>,
    limit: usize,
) -> Result<Requeued, QueueError> {
    let (chosen, complete) = chosen(queue, stream, choose, limit).await?;
    let now = queue.inner.clock.now_us();
    let attributes = serde_json::to_string(&Attributes::default()).unwrap_or_default();
    let count = queue
        .in_transaction(stream, move |transaction, _| {
            let mut count = 0;
            for id in &chosen {
                count += transaction.execute(
                    "INSERT INTO messages (id, stream, body, attributes, enqueued_at_us, visible_at_us) \
                     SELECT ?2, stream, body, ?3, ?4, ?4 FROM dead_letters WHERE id = ?1",
                    (id, Uuid::now_v7().to_string(), &attributes, now),
                )?;
                transaction.execute("DELETE FROM dead_letters WHERE id = ?1", [id])?;
            }
            Ok(count)
        })
        .await?;
    queue.inner.enqueued.notify_waiters();
    Ok(Requeued { count, complete })
}

pub(super) async fn discard(
    queue: &EmbeddedQueue,
    stream: &StreamName,
    choose: &Choice<'_>,
    limit: usize,
) -> Result<Discarded, QueueError> {
    let (chosen, complete) = chosen(queue, stream, choose, limit).await?;
    let count = queue
        .in_transaction(stream, move |transaction, _| {
            let mut delete = transaction.prepare_cached("DELETE FROM dead_letters WHERE id = ?1")?;
            chosen.iter().map(|id| delete.execute([id])).sum()
        })
        .await?;
    Ok(Discarded { count, complete })
}

pub(super) async fn put(
    queue: &EmbeddedQueue,
    stream: &StreamName,
    message: &Message,
) -> Result<(), QueueError> {
    let (body, id) = (message.body.clone(), Uuid::now_v7().to_string());
    let reason = message.attributes.reason.as_deref().map(text::dead_letter_reason);
    let attributes = Attributes { reason, ..message.attributes.clone() };
    let attributes = serde_json::to_string(&attributes).unwrap_or_default();
    queue
        .in_transaction(stream, move |transaction, stream| {
            let insert = "INSERT INTO dead_letters (id, stream, body, attributes) VALUES (?1, ?2, ?3, ?4)";
            transaction.execute(insert, (id, stream, body, attributes)).map(drop)
        })
        .await
}

/// The ids of the chosen letters, and whether all were looked at.
async fn chosen(
    queue: &EmbeddedQueue,
    stream: &StreamName,
    choose: &Choice<'_>,
    limit: usize,
) -> Result<(Vec<String>, bool), QueueError> {
    let page = list(queue, stream, ALL).await?;
    let chosen = page.letters.iter().filter(|letter| choose(letter)).take(limit);
    Ok((chosen.map(|letter| letter.id.clone()).collect(), page.complete))
}

fn letter(row: &Row<'_>) -> rusqlite::Result<DeadLetter> {
    let attributes = attributes(row, 2)?;
    Ok(DeadLetter {
        id: row.get(0)?,
        body: body(row, 1)?,
        reason: attributes.reason,
        attempts: attributes.attempts,
        first_received_us: attributes.first_received_us,
        dead_lettered_us: attributes.dead_lettered_us,
    })
}

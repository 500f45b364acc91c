//! The archive in DynamoDB: one conditional put an event, first write wins.
//!
//! Single puts and not a batch write: a batch has no conditions, and leaves items unprocessed that
//! are easily forgotten.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use aws_config::SdkConfig;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValuesOnConditionCheckFailure};
use eventlane_consumer::{Archive, ArchiveError, Stored};
use eventlane_contracts::{Clock, QueuedEvent, StreamName};
use futures::StreamExt;
use futures::stream;

use super::fault::word;
use super::key::Key;

/// Puts under way at once: a sub-batch in a fraction of a second, within one client's connections.
const PUTS_AT_ONCE: usize = 16;

/// An archive in one DynamoDB table with the string keys `pk` and `sk`. Clones share the client.
///
/// An item has `pk` (`<stream>#<shard>`, shard `00` to `15`), `sk` (`<event id>#<identity hash>`),
/// `stream`, `event_id`, `identity` (a map of strings), `occurred_at_us` and `archived_at_us`
/// (numbers, unix microseconds) and `payload` (its JSON text, literally).
#[derive(Clone)]
pub struct DynamoArchive {
    pub(super) client: Client,
    pub(super) table: String,
    clock: Arc<dyn Clock>,
}

impl DynamoArchive {
    /// An archive in this table, which must exist; nothing is asked here.
    #[must_use]
    pub fn new(config: &SdkConfig, table: impl Into<String>, clock: Arc<dyn Clock>) -> Self {
        Self { client: Client::new(config), table: table.into(), clock }
    }

    async fn put(
        &self,
        stream: &StreamName,
        key: &Key,
        event: &QueuedEvent,
        now_us: i64,
    ) -> Result<Outcome, ArchiveError> {
        let put = self
            .client
            .put_item()
            .table_name(&self.table)
            .set_item(Some(item(stream, key, event, now_us)))
            .condition_expression("attribute_not_exists(pk)")
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        match put.send().await {
            Ok(_) => Ok(Outcome::New),
            Err(error) => match error.as_service_error() {
                Some(PutItemError::ConditionalCheckFailedException(there)) => {
                    let kept = there.item().and_then(|item| item.get("payload")?.as_s().ok());
                    let kept = kept.ok_or_else(|| ArchiveError("an item without payload".to_owned()))?;
                    Ok(Outcome::compare(kept, event))
                }
                _ => Err(ArchiveError(word(&error))),
            },
        }
    }
}

#[async_trait]
impl Archive for DynamoArchive {
    /// A put whose answer was lost and that the SDK sent again counts as a duplicate.
    async fn store(&self, stream: &StreamName, events: &[QueuedEvent]) -> Result<Stored, ArchiveError> {
        let now_us = self.clock.now_us();
        let mut stored = Stored::default();
        let mut firsts: HashMap<Key, &QueuedEvent> = HashMap::with_capacity(events.len());
        let mut puts = Vec::with_capacity(events.len());
        for event in events {
            let key = Key::of(stream, event);
            // Two puts for one key at once would race: the first of the sub-batch wins here.
            if let Some(first) = firsts.get(&key) {
                Outcome::compare(first.payload.get(), event).count_in(&mut stored);
                continue;
            }
            firsts.insert(key.clone(), event);
            puts.push(async move { self.put(stream, &key, event, now_us).await });
        }
        let outcomes: Vec<_> = stream::iter(puts).buffer_unordered(PUTS_AT_ONCE).collect().await;
        // A fault fails the store only now, with every other put done.
        for outcome in outcomes {
            outcome?.count_in(&mut stored);
        }
        Ok(stored)
    }
}

/// What became of one event.
#[derive(Debug, Clone, Copy)]
enum Outcome {
    New,
    Duplicate,
    Conflict,
}

impl Outcome {
    fn compare(kept: &str, event: &QueuedEvent) -> Self {
        if kept == event.payload.get() { Self::Duplicate } else { Self::Conflict }
    }

    fn count_in(self, stored: &mut Stored) {
        match self {
            Self::New => stored.new += 1,
            Self::Duplicate => stored.duplicates += 1,
            Self::Conflict => stored.conflicts += 1,
        }
    }
}

fn item(stream: &StreamName, key: &Key, event: &QueuedEvent, now_us: i64) -> HashMap<String, AttributeValue> {
    let string = |text: &str| AttributeValue::S(text.to_owned());
    let identity = event.identity.iter().map(|(field, value)| (field.clone(), string(value)));
    [
        ("pk", string(&key.partition)),
        ("sk", string(&key.sort)),
        ("stream", string(stream.as_str())),
        ("event_id", string(&event.event_id)),
        ("identity", AttributeValue::M(identity.collect())),
        ("occurred_at_us", AttributeValue::N(event.occurred_at_us.clone())),
        ("payload", string(event.payload.get())),
        ("archived_at_us", AttributeValue::N(now_us.to_string())),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

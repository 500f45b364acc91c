//! Erasing one identity: every shard of a stream is read, since the identity's hash stands behind the
//! event id and nothing indexes it. Costs a read of the stream; it is rare.

use std::collections::{BTreeMap, HashMap};

use async_trait::async_trait;
use aws_sdk_dynamodb::types::AttributeValue;
use eventlane_consumer::{ArchiveError, EraseIdentity, Erased};
use eventlane_contracts::StreamName;
use futures::{StreamExt, stream};

use super::DynamoArchive;
use super::fault::word;
use super::key::partitions;

/// Deletes under way at once.
const DELETES_AT_ONCE: usize = 16;

#[async_trait]
impl EraseIdentity for DynamoArchive {
    async fn erase(
        &self,
        streams: &[StreamName],
        identity: &BTreeMap<String, String>,
        act: bool,
    ) -> Result<Erased, ArchiveError> {
        if identity.is_empty() {
            return Err(ArchiveError("no identity is named".to_owned()));
        }
        let mut erased = Erased::default();
        for partition in streams.iter().flat_map(partitions) {
            self.erase_shard(&partition, identity, act, &mut erased).await?;
        }
        Ok(erased)
    }
}

impl DynamoArchive {
    async fn erase_shard(
        &self,
        partition: &str,
        identity: &BTreeMap<String, String>,
        act: bool,
        erased: &mut Erased,
    ) -> Result<(), ArchiveError> {
        let mut from: Option<HashMap<String, AttributeValue>> = None;
        loop {
            let mut query = self
                .client
                .query()
                .table_name(&self.table)
                .consistent_read(true)
                .key_condition_expression("pk = :pk")
                .expression_attribute_names("#identity", "identity")
                .expression_attribute_values(":pk", AttributeValue::S(partition.to_owned()))
                .projection_expression("pk, sk")
                .set_exclusive_start_key(from.take());
            let mut terms = Vec::new();
            for (at, (field, value)) in identity.iter().enumerate() {
                terms.push(format!("#identity.#f{at} = :v{at}"));
                query = query
                    .expression_attribute_names(format!("#f{at}"), field)
                    .expression_attribute_values(format!(":v{at}"), AttributeValue::S(value.clone()));
            }
            let page = query.filter_expression(terms.join(" AND ")).send().await;
            let page = page.map_err(|error| ArchiveError(word(&error)))?;
            let keys = page.items.unwrap_or_default();
            erased.found += keys.len() as u64;
            if act {
                erased.erased += self.delete(keys).await?;
            }
            from = page.last_evaluated_key;
            if from.is_none() {
                return Ok(());
            }
        }
    }

    async fn delete(&self, keys: Vec<HashMap<String, AttributeValue>>) -> Result<u64, ArchiveError> {
        let deletes = keys.into_iter().map(|key| async move {
            self.client.delete_item().table_name(&self.table).set_key(Some(key)).send().await
        });
        let outcomes: Vec<_> = stream::iter(deletes).buffer_unordered(DELETES_AT_ONCE).collect().await;
        let mut count = 0;
        // A fault fails the erasure only now, with every other delete of the page done.
        for outcome in outcomes {
            outcome.map_err(|error| ArchiveError(word(&error)))?;
            count += 1;
        }
        Ok(count)
    }
}

//! The archive on ministack: the first write wins.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, AttributeValue, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType,
};
use eventlane_consumer::{Archive, EraseIdentity, Erased, Stored};
use eventlane_contracts::{QueuedEvent, StreamName};
use eventlane_testkit::ManualClock;
use eventlane_testkit::emulators::ministack_url;
use serde_json::value::RawValue;
use uuid::Uuid;

use super::{config, stream};
use crate::{DynamoArchive, Timeouts};

struct Table {
    client: Client,
    name: String,
    clock: ManualClock,
    archive: DynamoArchive,
    stream: StreamName,
}

async fn table() -> Table {
    let config = config(&ministack_url(), Timeouts::default(), 3);
    let (client, name) = (Client::new(&config), format!("archive-{}", Uuid::new_v4()));
    let mut create = client.create_table().table_name(&name).billing_mode(BillingMode::PayPerRequest);
    for (key, kind) in [("pk", KeyType::Hash), ("sk", KeyType::Range)] {
        let attribute = AttributeDefinition::builder().attribute_name(key);
        create = create
            .attribute_definitions(attribute.attribute_type(ScalarAttributeType::S).build().unwrap())
            .key_schema(KeySchemaElement::builder().attribute_name(key).key_type(kind).build().unwrap());
    }
    create.send().await.unwrap();
    let clock = ManualClock::default();
    let archive = DynamoArchive::new(&config, &name, Arc::new(clock.clone()));
    Table { client, name, clock, archive, stream: stream("a") }
}

impl Table {
    async fn store(&self, events: &[QueuedEvent]) -> [usize; 3] {
        let Stored { new, duplicates, conflicts } = self.archive.store(&self.stream, events).await.unwrap();
        [new, duplicates, conflicts]
    }

    async fn items(&self) -> Vec<std::collections::HashMap<String, AttributeValue>> {
        let answer = self.client.scan().table_name(&self.name).consistent_read(true).send().await.unwrap();
        answer.items.unwrap_or_default()
    }
}

fn event(id: u32, who: &str, payload: &str) -> QueuedEvent {
    QueuedEvent {
        event_id: format!("0199b6a0-0000-7000-8000-{id:012}"),
        occurred_at_us: "1760000000000001".to_owned(),
        identity: BTreeMap::from([("userId".to_owned(), who.to_owned())]),
        payload: RawValue::from_string(payload.to_owned()).unwrap(),
    }
}

#[tokio::test]
async fn the_first_write_wins() {
    let table = table().await;
    assert_eq!(table.store(&[event(1, "u", r#"{"n":1.10}"#)]).await, [1, 0, 0]);
    table.clock.advance(Duration::from_secs(1));
    assert_eq!(table.store(&[event(1, "u", r#"{"n":1.10}"#)]).await, [0, 1, 0], "the same again");
    assert_eq!(table.store(&[event(1, "u", r#"{"n":1.1}"#)]).await, [0, 0, 1], "another payload");
    let items = table.items().await;
    assert_eq!(items.len(), 1);
    let text = |name: &str| items[0][name].as_s().unwrap().as_str();
    assert_eq!(text("payload"), r#"{"n":1.10}"#);
    assert_eq!((text("stream"), text("event_id")), ("a", "0199b6a0-0000-7000-8000-000000000001"));
    assert_eq!((text("pk"), text("sk").len()), ("a#07", 36 + 1 + 16));
    assert_eq!(items[0]["occurred_at_us"].as_n().unwrap(), "1760000000000001");
    assert_eq!(items[0]["archived_at_us"].as_n().unwrap(), "1760000000000000");
    assert_eq!(items[0]["identity"].as_m().unwrap()["userId"].as_s().unwrap(), "u");
}

#[tokio::test]
async fn one_id_under_two_identities_is_two_events() {
    let table = table().await;
    assert_eq!(table.store(&[event(1, "u", "1"), event(1, "v", "2")]).await, [2, 0, 0]);
    let nobody = QueuedEvent { identity: BTreeMap::new(), ..event(1, "", "3") };
    assert_eq!(table.store(&[nobody]).await, [1, 0, 0]);
    assert_eq!(table.items().await.len(), 3);
}

// D26
#[tokio::test]
async fn the_same_id_twice_in_one_message_is_stored_once() {
    let table = table().await;
    let events = [event(1, "u", "1"), event(1, "u", "1"), event(1, "u", "2"), event(2, "u", "1")];
    assert_eq!(table.store(&events).await, [2, 1, 1]);
    assert_eq!(table.store(&events).await, [0, 3, 1]);
    assert_eq!(table.items().await.len(), 2);
}

#[tokio::test]
async fn a_large_sub_batch_is_spread_over_partitions() {
    let table = table().await;
    let payload = format!("\"{}\"", "x".repeat(1_000));
    let events: Vec<_> = (0..300).map(|id| event(id, "u", &payload)).collect();
    assert_eq!(table.store(&events).await, [300, 0, 0]);
    let shards: std::collections::HashSet<_> =
        table.items().await.iter().map(|item| item["pk"].as_s().unwrap().clone()).collect();
    assert_eq!(shards.len(), 16);
}

#[tokio::test]
async fn a_missing_table_fails_the_store_by_its_code() {
    let table = table().await;
    let config = config(&ministack_url(), Timeouts::default(), 1);
    let archive = DynamoArchive::new(&config, "nobody", Arc::new(table.clock.clone()));
    let error = archive.store(&table.stream, &[event(1, "u", "\"secret\"")]).await.unwrap_err();
    assert_eq!(error.to_string(), "the archive can't store (ResourceNotFoundException)");
}

#[tokio::test]
async fn one_identity_is_erased_over_every_shard_and_a_dry_run_erases_nothing() {
    let table = table().await;
    let mine: Vec<_> = (0..60).map(|id| event(id, "u", "1")).collect();
    let theirs: Vec<_> = (0..20).map(|id| event(id, "v", "1")).collect();
    table.store(&mine).await;
    table.store(&theirs).await;
    let (streams, who) = ([table.stream.clone()], [("userId".to_owned(), "u".to_owned())].into());
    let dry = table.archive.erase(&streams, &who, false).await.unwrap();
    assert_eq!((dry, table.items().await.len()), (Erased { found: 60, erased: 0 }, 80));
    let real = table.archive.erase(&streams, &who, true).await.unwrap();
    assert_eq!(real, Erased { found: 60, erased: 60 });
    assert!(
        table
            .items()
            .await
            .iter()
            .all(|item| item["identity"].as_m().unwrap()["userId"].as_s().unwrap() == "v")
    );
    assert!(table.archive.erase(&streams, &BTreeMap::new(), true).await.is_err(), "nobody is not everybody");
}

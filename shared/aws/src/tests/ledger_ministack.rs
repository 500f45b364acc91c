//! The ledger on ministack: a mark is made once, and an expired one is absent though it is shown.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType,
};
use eventlane_consumer::{Claim, Ledger};
use eventlane_contracts::QueuedEvent;
use eventlane_testkit::ManualClock;
use eventlane_testkit::emulators::ministack_url;
use serde_json::value::RawValue;
use uuid::Uuid;

use super::{LEASE, config, stream};
use crate::{DynamoLedger, Timeouts};

struct Table {
    client: Client,
    name: String,
    clock: ManualClock,
    ledger: DynamoLedger,
}

async fn table() -> Table {
    let config = config(&ministack_url(), Timeouts::default(), 3);
    let (client, name) = (Client::new(&config), format!("ledger-{}", Uuid::new_v4()));
    let attribute = AttributeDefinition::builder().attribute_name("pk");
    let attribute = attribute.attribute_type(ScalarAttributeType::S).build().unwrap();
    let key = KeySchemaElement::builder().attribute_name("pk").key_type(KeyType::Hash).build().unwrap();
    let create = client.create_table().table_name(&name).billing_mode(BillingMode::PayPerRequest);
    create.attribute_definitions(attribute).key_schema(key).send().await.unwrap();
    let clock = ManualClock::default();
    let ledger = DynamoLedger::new(&config, &name, Arc::new(clock.clone()));
    Table { client, name, clock, ledger }
}

fn event(id: u32, who: &str) -> QueuedEvent {
    QueuedEvent {
        event_id: format!("0199b6a0-0000-7000-8000-{id:012}"),
        occurred_at_us: "1".to_owned(),
        identity: BTreeMap::from([("userId".to_owned(), who.to_owned())]),
        payload: RawValue::from_string("1".to_owned()).unwrap(),
    }
}

// D21
#[tokio::test]
async fn marks_are_busy_until_they_expire_and_done_for_their_horizon() {
    let table = table().await;
    let (a, one) = (stream("a"), [event(1, "u")]);
    let begin = async |owner: &str, events: &[QueuedEvent]| {
        table.ledger.begin(&a, events, owner, LEASE).await.unwrap().remove(0)
    };
    assert_eq!(begin("x", &one).await, Claim::Ours);
    assert_eq!(begin("x", &one).await, Claim::Ours, "its own, as after a lost answer");
    assert_eq!(begin("y", &one).await, Claim::Busy(LEASE));
    assert_eq!(begin("y", &[event(1, "v")]).await, Claim::Ours, "another identity");
    assert_eq!(table.ledger.begin(&stream("b"), &one, "y", LEASE).await.unwrap(), [Claim::Ours]);
    table.clock.advance(LEASE / 2);
    assert!(table.ledger.renew(&a, &one, "x", LEASE).await.unwrap());
    table.clock.advance(LEASE / 2);
    assert_eq!(begin("y", &one).await, Claim::Busy(LEASE / 2));
    table.clock.advance(LEASE / 2);
    assert_eq!(begin("y", &one).await, Claim::Ours, "the table still shows it");
    assert!(!table.ledger.renew(&a, &one, "x", LEASE).await.unwrap());
    table.ledger.finish(&a, &one, "x", LEASE).await.unwrap();
    table.ledger.forget(&a, &one, "x").await.unwrap();
    assert_eq!(begin("z", &one).await, Claim::Busy(LEASE), "one who lost it changes nothing");
    table.ledger.finish(&a, &one, "y", 10 * LEASE).await.unwrap();
    assert_eq!(begin("z", &one).await, Claim::Done);
    table.clock.advance(10 * LEASE);
    assert_eq!(begin("z", &one).await, Claim::Ours);
    table.ledger.forget(&a, &one, "z").await.unwrap();
    assert_eq!(begin("w", &one).await, Claim::Ours);
}

// D26
#[tokio::test]
async fn an_event_twice_in_one_message_is_claimed_once_and_answered_twice() {
    let table = table().await;
    let events = [event(1, "u"), event(2, "u"), event(1, "u")];
    let claims = table.ledger.begin(&stream("a"), &events, "x", LEASE).await.unwrap();
    assert_eq!(claims, [Claim::Ours; 3]);
    let items = table.client.scan().table_name(&table.name).send().await.unwrap().items.unwrap();
    assert_eq!(items.len(), 2);
    let number = |name: &str| items[0][name].as_n().unwrap().parse::<i64>().unwrap();
    assert_eq!(number("ttl"), number("expires_at_us") / 1_000_000, "whole seconds");
    table.clock.advance(Duration::from_secs(1));
    let other = table.ledger.begin(&stream("a"), &events[1..], "y", LEASE).await.unwrap();
    assert_eq!(other, [Claim::Busy(LEASE - Duration::from_secs(1)); 2]);
}

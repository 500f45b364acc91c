//! Consent on ministack: what is written counts from the next request on.

use std::sync::Arc;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, AttributeValue, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType,
};
use eventlane_ingest::IngestOptions;
use eventlane_testkit::emulators::ministack_url;
use eventlane_testkit::envelopes::Event;
use uuid::Uuid;

use super::cases::door_with;
use super::config;
use crate::{DynamoConsent, Timeouts};

#[tokio::test]
async fn what_a_subject_says_counts_from_the_next_request_on() {
    let config = config(&ministack_url(), Timeouts::default(), 3);
    let (client, table) = (Client::new(&config), format!("consent-{}", Uuid::new_v4()));
    let attribute = AttributeDefinition::builder().attribute_name("subject");
    let attribute = attribute.attribute_type(ScalarAttributeType::S).build().unwrap();
    let key = KeySchemaElement::builder().attribute_name("subject").key_type(KeyType::Hash).build().unwrap();
    let create = client.create_table().table_name(&table).billing_mode(BillingMode::PayPerRequest);
    create.attribute_definitions(attribute).key_schema(key).send().await.unwrap();
    let gate = Arc::new(DynamoConsent::new(&config, &table));
    let door = door_with(gate, IngestOptions::default());
    let both = [Event::new(1, "a", "1"), Event::new(2, "b", "1")];
    let say = async |subject: &str, granted: &[&str], declined: &[&str]| {
        let names =
            |names: &[&str]| AttributeValue::Ss(names.iter().map(|name| (*name).to_owned()).collect());
        let mut put = client.put_item().table_name(&table);
        put = put.item("subject", AttributeValue::S(subject.to_owned()));
        if !granted.is_empty() {
            put = put.item("granted", names(granted));
        }
        if !declined.is_empty() {
            put = put.item("declined", names(declined));
        }
        put.send().await.unwrap();
    };
    assert_eq!(door.send(&both).await.words(), ["refused", "refused"], "nobody has said anything");
    say("someone-else", &["*"], &[]).await;
    assert_eq!(door.send(&both).await.words(), ["refused", "refused"]);
    say("user-1", &["a"], &[]).await;
    assert_eq!(door.send(&both).await.words(), ["acked", "refused"]);
    say("user-1", &["*"], &["a"]).await;
    assert_eq!(door.send(&both).await.words(), ["refused", "acked"]);
    client.delete_table().table_name(&table).send().await.unwrap();
    assert_eq!(door.send(&both).await.status, 500, "a table that is gone refuses nobody");
    assert_eq!((door.queued("a").len(), door.queued("b").len()), (1, 1));
}

//! A Lambda function that puts what it is sent on a queue: `lambda_http`, the ingest's two SDK clients,
//! nothing else. As in the ingest, DynamoDB is asked only where a table is set.

use aws_config::BehaviorVersion;
use aws_sdk_dynamodb::types::AttributeValue;
use lambda_http::{Body, Error, Request, Response, run, service_fn};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let config = aws_config::defaults(BehaviorVersion::latest()).load().await;
    let prefix = std::env::var("EVENTLANE_QUEUE_URL_PREFIX")?;
    let table = std::env::var("EVENTLANE_CONSENT_TABLE").ok();
    let (queue, queue_url) = (&aws_sdk_sqs::Client::new(&config), &format!("{prefix}-issue_viewed"));
    let (tables, table) = (&aws_sdk_dynamodb::Client::new(&config), &table);
    run(service_fn(async |request: Request| {
        let text = match request.into_body() {
            Body::Text(text) => text,
            _ => return Err(Error::from("a text was expected")),
        };
        if let Some(table) = table {
            let key = AttributeValue::S("someone".to_owned());
            tables.get_item().table_name(table).key("subject", key).send().await?;
        }
        queue.send_message().queue_url(queue_url).message_body(text).send().await?;
        Ok(Response::new("{}".to_owned()))
    }))
    .await
}

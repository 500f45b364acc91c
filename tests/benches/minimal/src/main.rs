//! A Lambda function that puts what it is sent on a queue: `lambda_http`, one SQS client, nothing else.

use aws_config::BehaviorVersion;
use aws_sdk_sqs::Client;
use lambda_http::{Body, Error, Request, Response, run, service_fn};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let config = aws_config::defaults(BehaviorVersion::latest()).load().await;
    let prefix = std::env::var("EVENTLANE_QUEUE_URL_PREFIX")?;
    let (client, queue_url) = (&Client::new(&config), &format!("{prefix}-issue_viewed"));
    run(service_fn(async |request: Request| {
        let text = match request.into_body() {
            Body::Text(text) => text,
            _ => return Err(Error::from("a text was expected")),
        };
        client.send_message().queue_url(queue_url).message_body(text).send().await?;
        Ok(Response::new("{}".to_owned()))
    }))
    .await
}

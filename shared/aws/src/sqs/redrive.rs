//! Redrive: SQS moves a whole dead-letter queue by itself.
//!
//! The destination is always named. Without one SQS sends each message back to the queue it came
//! from, which it only knows of messages that its own redrive policy moved: ours were sent.

use aws_sdk_sqs::error::{ProvideErrorMetadata, SdkError};
use eventlane_contracts::StreamName;
use eventlane_queue::{QueueError, Redrive};

use super::SqsQueue;
use super::attributes::arn;
use super::classify::Fault;

pub(super) async fn redrive(queue: &SqsQueue, stream: &StreamName) -> Result<Redrive, QueueError> {
    let source = arn(queue, &queue.urls.dead(stream)).await?;
    let destination = arn(queue, &queue.urls.main(stream)).await?;
    let call = queue.client.start_message_move_task().source_arn(source).destination_arn(destination);
    match call.send().await {
        Ok(_) => Ok(Redrive::Started),
        Err(SdkError::ServiceError(service)) if is_unknown(service.err().code()) => Ok(Redrive::Unsupported),
        Err(error) => Err(Fault::of_call(&error).into_queue()),
    }
}

/// Whether the service doesn't know the action, as some that speak SQS's protocol don't.
fn is_unknown(code: Option<&str>) -> bool {
    code.is_some_and(|code| {
        ["InvalidAction", "UnknownOperation", "UnsupportedOperation", "NotImplemented"]
            .iter()
            .any(|unknown| code.contains(unknown))
    })
}

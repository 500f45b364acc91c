//! The word for a fault of DynamoDB: what it writes beside the code may quote an item.

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};

use crate::code_word::code_word;

pub(super) fn word<E: ProvideErrorMetadata, R>(error: &SdkError<E, R>) -> String {
    code_word(match error {
        SdkError::TimeoutError(_) => "timeout",
        SdkError::DispatchFailure(_) => "connection",
        SdkError::ResponseError(_) => "unreadable answer",
        SdkError::ServiceError(service) => service.err().code().unwrap_or("no code"),
        _ => "request not built",
    })
}

//! Errors as SQS writes them: a JSON body, and a header for clients of the older query protocol,
//! which the Rust SDK reads the code from.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;

/// An error answer, of a whole call or of one entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SqsError {
    pub(super) status: u16,
    pub(super) code: String,
    pub(super) message: String,
    pub(super) sender_fault: bool,
}

/// Codes that the query protocol knows under a prefix.
const PREFIXED: [&str; 7] = [
    "BatchEntryIdsNotDistinct",
    "BatchRequestTooLong",
    "EmptyBatchRequest",
    "InvalidBatchEntryId",
    "MessageNotInflight",
    "TooManyEntriesInBatchRequest",
    "UnsupportedOperation",
];

impl SqsError {
    /// A fault of the sender, 400.
    pub(super) fn sender(code: &str, message: impl Into<String>) -> Self {
        Self { status: 400, code: code.to_owned(), message: message.into(), sender_fault: true }
    }

    /// A parameter out of its range.
    pub(super) fn parameter(message: impl Into<String>) -> Self {
        Self::sender("InvalidParameterValue", message)
    }

    /// A queue that was not declared.
    pub(super) fn no_queue() -> Self {
        Self::sender("QueueDoesNotExist", "The specified queue does not exist.")
    }

    /// A receipt that is not this message's, or no longer.
    pub(super) fn receipt() -> Self {
        Self::sender("ReceiptHandleIsInvalid", "The input receipt handle is invalid.")
    }

    /// The code as the query protocol writes it.
    fn query_code(&self) -> String {
        match self.code.as_str() {
            "QueueDoesNotExist" => "AWS.SimpleQueueService.NonExistentQueue".to_owned(),
            "AccessDeniedException" => "AccessDenied".to_owned(),
            code if PREFIXED.contains(&code) => format!("AWS.SimpleQueueService.{code}"),
            code => code.to_owned(),
        }
    }
}

impl IntoResponse for SqsError {
    fn into_response(self) -> Response {
        let side = if self.sender_fault { "Sender" } else { "Receiver" };
        let headers = [
            ("content-type", "application/x-amz-json-1.0".to_owned()),
            ("x-amzn-requestid", "00000000-0000-4000-8000-000000000000".to_owned()),
            ("x-amzn-query-error", format!("{};{side}", self.query_code())),
        ];
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = json!({"__type": format!("com.amazonaws.sqs#{}", self.code), "message": self.message});
        (status, headers, body.to_string()).into_response()
    }
}

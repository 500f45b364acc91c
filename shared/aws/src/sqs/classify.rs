//! What a fault of SQS means for the lane, by its code.
//!
//! Only code words leave this module: what SQS writes beside them may quote a message.

use aws_sdk_sqs::config::http::HttpResponse;
use aws_sdk_sqs::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_sqs::types::BatchResultErrorEntry;
use eventlane_queue::{EnqueueError, QueueError};

use crate::code_word::code_word;

/// Whose fault it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The service as a whole, for now.
    Service,
    /// This queue alone: missing, no access, its key.
    Queue,
    /// What is in the message.
    Contents,
    /// More bytes than the queue takes. Ours are within what SQS can take, so it is the queue's own
    /// setting, or a call's total.
    Size,
    /// The receipt is worth nothing any more.
    Lapsed,
    /// A value out of range, which one depends on the call.
    Parameter,
    /// The answer doesn't mention the entry.
    Missing,
    /// Anything else.
    Other,
}

/// A fault with the word that names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) kind: Kind,
    pub(super) word: String,
}

impl Fault {
    pub(super) fn new(kind: Kind, word: &str) -> Self {
        Self { kind, word: word.to_owned() }
    }

    /// A whole call's.
    pub(super) fn of_call<E: ProvideErrorMetadata>(error: &SdkError<E, HttpResponse>) -> Self {
        match error {
            SdkError::TimeoutError(_) => Self::new(Kind::Service, "timeout"),
            SdkError::DispatchFailure(failure) if failure.is_timeout() => Self::new(Kind::Service, "timeout"),
            SdkError::DispatchFailure(failure) if failure.is_io() => Self::new(Kind::Service, "connection"),
            SdkError::DispatchFailure(_) => Self::new(Kind::Service, "dispatch"),
            // The service may have done it and broken off while saying so.
            SdkError::ResponseError(response) if response.raw().status().is_success() => {
                Self::new(Kind::Other, "unreadable answer")
            }
            SdkError::ResponseError(_) => Self::new(Kind::Service, "unreadable answer"),
            SdkError::ServiceError(service) => {
                let status = service.raw().status().as_u16();
                let mut fault = Self::of_code(service.err().code(), service.err().message());
                if fault.kind == Kind::Other && (status >= 500 || status == 429) {
                    fault.kind = Kind::Service;
                }
                fault
            }
            _ => Self::new(Kind::Other, "request not built"),
        }
    }

    /// One entry's, as the answer lists it.
    pub(super) fn of_entry(entry: &BatchResultErrorEntry) -> Self {
        let mut fault = Self::of_code(Some(&entry.code), entry.message());
        if fault.kind == Kind::Other && !entry.sender_fault {
            fault.kind = Kind::Service;
        }
        fault
    }

    fn of_code(code: Option<&str>, message: Option<&str>) -> Self {
        let full = code.unwrap_or("no code");
        Self { kind: kind(full, message.unwrap_or_default()), word: code_word(full) }
    }

    /// For a message that was to be enqueued.
    pub(super) fn into_enqueue(self) -> EnqueueError {
        match self.kind {
            Kind::Service => EnqueueError::Unavailable(self.word),
            Kind::Queue => EnqueueError::Queue(self.word),
            Kind::Contents => EnqueueError::Contents,
            Kind::Size => EnqueueError::TooLarge,
            Kind::Lapsed | Kind::Parameter | Kind::Missing | Kind::Other => {
                EnqueueError::Unconfirmed(self.word)
            }
        }
    }

    /// For a whole call on a queue.
    pub(super) fn into_queue(self) -> QueueError {
        match self.kind {
            Kind::Service | Kind::Missing => QueueError::Unavailable(self.word),
            Kind::Lapsed => QueueError::Lapsed,
            Kind::Queue | Kind::Contents | Kind::Size | Kind::Parameter | Kind::Other => {
                QueueError::Queue(self.word)
            }
        }
    }

    /// For one receipt of a settle. The values sent there are in range, so that a parameter out of
    /// range is the lease's end: 12 hours since the receive, or a handle that has expired.
    pub(super) fn into_settle(self) -> QueueError {
        match self.kind {
            Kind::Parameter => QueueError::Lapsed,
            Kind::Service
            | Kind::Queue
            | Kind::Contents
            | Kind::Size
            | Kind::Lapsed
            | Kind::Missing
            | Kind::Other => self.into_queue(),
        }
    }
}

/// Codes come bare (`QueueDoesNotExist`), with the old protocol's prefix
/// (`AWS.SimpleQueueService.NonExistentQueue`) or as the exception's name (`AccessDeniedException`).
fn kind(code: &str, message: &str) -> Kind {
    let short = code.rsplit(['.', '#']).next().unwrap_or(code);
    let short = short.strip_suffix("Exception").unwrap_or(short);
    if short.contains("Throttl") {
        return Kind::Service;
    }
    if code.starts_with("KMS.") || code.starts_with("Kms") {
        return Kind::Queue;
    }
    match short {
        "ServiceUnavailable"
        | "InternalFailure"
        | "InternalError"
        | "InternalServerError"
        | "SlowDown"
        | "RequestTimeout"
        | "TooManyRequests"
        | "OverLimit" => Kind::Service,
        "QueueDoesNotExist"
        | "NonExistentQueue"
        | "AccessDenied"
        | "InvalidAddress"
        | "InvalidSecurity"
        | "UnsupportedOperation" => Kind::Queue,
        "InvalidMessageContents" => Kind::Contents,
        "BatchRequestTooLong" => Kind::Size,
        "ReceiptHandleIsInvalid" | "MessageNotInflight" => Kind::Lapsed,
        // SQS has no code of its own for a message above its queue's maximum.
        "InvalidParameterValue" if message.contains("must be shorter than") => Kind::Size,
        "InvalidParameterValue" => Kind::Parameter,
        _ => Kind::Other,
    }
}

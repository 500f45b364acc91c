//! Faults of a whole batch: every answer that is not 200.

use std::time::Duration;

use axum::http::StatusCode;
use eventlane_contracts::limits::{BATCH_EVENTS, BODY_BYTES};
use eventlane_contracts::wire::{EVENTS_PATH, FramingError};

use crate::TokenError;

/// Why a request as a whole is answered without verdicts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// No such route.
    #[error("no such route; events go to POST {EVENTS_PATH}")]
    NotFound,
    /// The route, with another method; holds those it has, as `Allow` lists them.
    #[error("method not allowed here, only {0}; events go to POST {EVENTS_PATH}")]
    MethodNotAllowed(&'static str),
    /// No token that proves anything. Says which kind of trouble, never anything of the token.
    #[error("no valid token: {0}")]
    Unauthorized(TokenError),
    /// Nothing can be said of the token: no keys could ever be loaded.
    #[error("the keys that tokens are verified with can't be loaded; try again later")]
    KeysUnavailable {
        /// Seconds until the next try, at least 1.
        retry_after_seconds: u32,
    },
    /// More requests than this token's holder may send.
    #[error("too many requests; try again in {} s", .retry_after.as_secs())]
    TooManyRequests {
        /// Until the next one, whole seconds, at least 1.
        retry_after: Duration,
    },
    /// A content encoding other than `identity` and `gzip`.
    #[error("content encoding is not supported; send the body plain or as gzip")]
    Encoding,
    /// The body is larger than the limit, as declared, as read or as decoded.
    #[error("body is larger than {BODY_BYTES} bytes")]
    BodyTooLarge,
    /// More events than a batch may have.
    #[error("batch has {0} events, the limit is {BATCH_EVENTS}")]
    TooManyEvents(usize),
    /// The body can't be read, decoded or is not the shape.
    #[error("{0}")]
    Framing(String),
    /// The body didn't arrive in time. Only where bodies arrive piece by piece, never in a Lambda.
    #[error("the body took longer than {0} s to arrive")]
    Slow(u64),
    /// The gate failed for every event.
    #[error("the gate failed for every event; try again later")]
    Gate,
    /// The queue service is unavailable; nothing was queued.
    #[error("the queue service is unavailable and nothing was queued; try again later")]
    Unavailable,
    /// Something of ours panicked outside any one event. What was queued stays queued: the sender
    /// sends the same events again, and their ids tell.
    #[error("internal fault; try again later")]
    Internal,
}

impl Fault {
    /// The status it is answered with.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        match self {
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed(_) => StatusCode::METHOD_NOT_ALLOWED,
            Self::Unauthorized(_) => StatusCode::UNAUTHORIZED,
            Self::TooManyRequests { .. } => StatusCode::TOO_MANY_REQUESTS,
            Self::Encoding => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::BodyTooLarge | Self::TooManyEvents(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Framing(_) => StatusCode::BAD_REQUEST,
            Self::Slow(_) => StatusCode::REQUEST_TIMEOUT,
            Self::Gate | Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
            Self::KeysUnavailable { .. } | Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// A stable word for metrics and logs.
    #[must_use]
    pub fn tag(&self) -> &'static str {
        match self {
            Self::NotFound => "not_found",
            Self::MethodNotAllowed(_) => "method_not_allowed",
            Self::Unauthorized(error) => error.tag(),
            Self::KeysUnavailable { .. } => "token_keys_unavailable",
            Self::TooManyRequests { .. } => "too_many_requests",
            Self::Encoding => "encoding",
            Self::BodyTooLarge => "body_too_large",
            Self::TooManyEvents(_) => "too_many_events",
            Self::Framing(_) => "framing",
            Self::Slow(_) => "slow_body",
            Self::Gate => "gate",
            Self::Unavailable => "unavailable",
            Self::Internal => "internal",
        }
    }

    /// Whether the same request may succeed later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::TooManyRequests { .. }
            | Self::Slow(_)
            | Self::KeysUnavailable { .. }
            | Self::Gate
            | Self::Unavailable
            | Self::Internal => true,
            Self::NotFound
            | Self::MethodNotAllowed(_)
            | Self::Unauthorized(_)
            | Self::Encoding
            | Self::BodyTooLarge
            | Self::TooManyEvents(_)
            | Self::Framing(_) => false,
        }
    }
}

impl From<TokenError> for Fault {
    fn from(error: TokenError) -> Self {
        match error {
            TokenError::KeysUnavailable { retry_after_seconds } => {
                Self::KeysUnavailable { retry_after_seconds }
            }
            error => Self::Unauthorized(error),
        }
    }
}

impl From<FramingError> for Fault {
    fn from(error: FramingError) -> Self {
        match error {
            FramingError::Count(count) => Self::TooManyEvents(count),
            FramingError::Shape(message) => Self::Framing(message),
        }
    }
}

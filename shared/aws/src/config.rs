//! How the SDK's clients are set up: every call ends before the function that makes it.
//!
//! The SDK has no deadline of its own for a call as a whole. A function that waits for a silent
//! service runs into its own limit and answers nothing, for work that may have happened.

use std::time::Duration;

use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, SdkConfig};
use aws_sdk_sqs::config::SharedHttpClient;
use aws_smithy_http_client::Builder;
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};

/// Attempts of one call, the first included. Source: the SDK's standard retry mode.
const ATTEMPTS: u32 = 3;

/// Idle connections kept to one host: one fewer than a call has attempts. A function that was frozen
/// wakes with connections that died meanwhile, and nothing tells; each costs one attempt, and the
/// last one is sure to open a new connection.
const IDLE_CONNECTIONS: usize = ATTEMPTS as usize - 1;

/// The deadlines of every call but a receive, whose wait is the caller's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// To open a connection. Default 1 s: inside a region it takes milliseconds.
    pub connect: Duration,
    /// One attempt, from request to answer. Default 3 s.
    pub attempt: Duration,
    /// The call with its retries and their backoff. Default 8 s: with a cold start before it, it
    /// stays below the 29 s after which a gateway answers in the function's place.
    pub operation: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(1),
            attempt: Duration::from_secs(3),
            operation: Duration::from_secs(8),
        }
    }
}

impl Timeouts {
    pub(crate) fn to_config(self) -> TimeoutConfig {
        TimeoutConfig::builder()
            .connect_timeout(self.connect)
            .operation_attempt_timeout(self.attempt)
            .operation_timeout(self.operation)
            .build()
    }
}

pub(crate) fn http_client() -> SharedHttpClient {
    Builder::new()
        .pool_max_idle_per_host(IDLE_CONNECTIONS)
        .tls_provider(Provider::Rustls(CryptoMode::AwsLc))
        .build_https()
}

/// Loads region, credentials and endpoint as every AWS tool does (environment, profile, the
/// function's role) and sets the deadlines. `AWS_ENDPOINT_URL` is honoured.
///
/// # Cancel safety
/// Cancel safe: nothing is changed anywhere.
pub async fn sdk_config(timeouts: Timeouts) -> SdkConfig {
    aws_config::defaults(BehaviorVersion::latest())
        .http_client(http_client())
        .timeout_config(timeouts.to_config())
        .retry_config(RetryConfig::standard().with_max_attempts(ATTEMPTS))
        .load()
        .await
}

//! The nudge: one message to a queue that is the drain's event source.

use async_trait::async_trait;
use eventlane_contracts::StreamName;
use eventlane_queue::{Nudge, NudgeError, nudge_text};

use super::SqsQueue;
use super::send::send_one;

/// Why a text is no nudge queue's URL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the nudge queue's URL {0}; it should look like \
     https://sqs.eu-west-1.amazonaws.com/123456789012/eventlane-drain-nudge"
)]
pub struct NudgeUrlError(&'static str);

/// A nudge queue, reached over the connections of the streams' queues.
#[derive(Clone)]
pub struct SqsNudge {
    queue: SqsQueue,
    url: String,
}

impl SqsNudge {
    /// The nudge queue at this URL, without asking the service anything.
    ///
    /// # Errors
    /// [`NudgeUrlError`] when it is no http or https URL with a path that ends with a queue's name.
    pub fn new(queue: SqsQueue, url: &str) -> Result<Self, NudgeUrlError> {
        let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
        let Some((host, path)) = rest.and_then(|rest| rest.split_once('/')) else {
            return Err(NudgeUrlError("is no http or https URL with a path"));
        };
        if url.contains(|c: char| c.is_whitespace() || c.is_control() || matches!(c, '?' | '#' | '@')) {
            return Err(NudgeUrlError("must have no blanks, no user, no query and no fragment"));
        }
        if host.is_empty() || path.rsplit('/').next().is_none_or(str::is_empty) {
            return Err(NudgeUrlError("must name a host and end with a queue's name"));
        }
        Ok(Self { queue, url: url.to_owned() })
    }
}

#[async_trait]
impl Nudge for SqsNudge {
    async fn nudge(&self, streams: &[StreamName]) -> Result<(), NudgeError> {
        let sent = send_one(&self.queue, &self.url, &nudge_text(streams), &[]).await;
        sent.map_err(|fault| NudgeError(fault.word))
    }
}

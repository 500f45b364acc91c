//! Nudge: a word to the drain that streams have something, so that it needn't wait for its schedule.

use async_trait::async_trait;
use eventlane_contracts::StreamName;

/// Why a nudge was not sent, as a stable word. Only latency is lost with it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the drain was not nudged ({0})")]
pub struct NudgeError(pub String);

/// Wakes the drain.
#[async_trait]
pub trait Nudge: Send + Sync {
    /// Says once that these streams have something.
    ///
    /// # Errors
    /// [`NudgeError`] when it isn't known to be said.
    ///
    /// # Cancel safety
    /// Cancel safe: a dropped nudge may have been said.
    async fn nudge(&self, streams: &[StreamName]) -> Result<(), NudgeError>;
}

/// A nudge's text on a queue: `{"streams":["a","b"]}`.
#[must_use]
pub fn nudge_text<'a>(streams: impl IntoIterator<Item = &'a StreamName>) -> String {
    // Names hold nothing that JSON escapes.
    let names: Vec<String> = streams.into_iter().map(|stream| format!("\"{stream}\"")).collect();
    format!(r#"{{"streams":[{}]}}"#, names.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nudge_is_json_with_the_streams_names() {
        let streams = ["a", "b_2"].map(|name| StreamName::new(name).unwrap());
        assert_eq!(nudge_text(&streams), r#"{"streams":["a","b_2"]}"#);
    }
}

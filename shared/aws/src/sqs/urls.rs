//! Queue URLs, derived from a configured prefix: no look-up, and none can fail at a cold start.

use eventlane_contracts::StreamName;
use eventlane_contracts::limits::STREAM_NAME_CHARS;

/// Characters of a queue's name. Source: SQS quotas, "Queue name".
const QUEUE_NAME_CHARS: usize = 80;

/// The tail of a dead-letter queue's name.
const DEAD: &str = "-dlq";

/// Characters that the last part of a prefix may have, so that every stream's queues can be named.
const PREFIX_NAME_CHARS: usize = QUEUE_NAME_CHARS - 1 - STREAM_NAME_CHARS - DEAD.len();

/// Why a text is no queue URL prefix.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the queue URL prefix {trouble}; it should look like \
     https://sqs.eu-west-1.amazonaws.com/123456789012/eventlane"
)]
pub struct UrlPrefixError {
    trouble: String,
}

/// Where the streams' queues are: `<prefix>-<stream>` and `<prefix>-<stream>-dlq`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct QueueUrls {
    prefix: String,
    /// Bytes of scheme and authority.
    origin_bytes: usize,
    /// The region, where the host is AWS's own.
    region: Option<String>,
}

impl QueueUrls {
    pub(super) fn new(prefix: &str) -> Result<Self, UrlPrefixError> {
        let fault = |trouble: &str| Err(UrlPrefixError { trouble: trouble.to_owned() });
        let Some((scheme, rest)) = prefix.split_once("://") else {
            return fault("has no scheme");
        };
        if !matches!(scheme, "http" | "https") {
            return fault("must be an http or https URL");
        }
        if prefix.contains(|c: char| c.is_whitespace() || c.is_control() || matches!(c, '?' | '#' | '@')) {
            return fault("must have no blanks, no user, no query and no fragment");
        }
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let host = authority.split_once(':').map_or(authority, |(host, _)| host);
        if host.is_empty() {
            return fault("names no host");
        }
        let name = path.rsplit('/').next().unwrap_or_default();
        if name.is_empty() {
            return fault("must end with the queues' common name, without a slash after it");
        }
        if !name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_')) {
            return fault("must end with letters, digits, hyphens and underscores only");
        }
        if name.len() > PREFIX_NAME_CHARS {
            return Err(UrlPrefixError {
                trouble: format!(
                    "ends with a name of {} characters, at most {PREFIX_NAME_CHARS} leave room for the streams",
                    name.len()
                ),
            });
        }
        Ok(Self {
            prefix: prefix.to_owned(),
            origin_bytes: scheme.len() + "://".len() + authority.len(),
            region: aws_region(host),
        })
    }

    pub(super) fn main(&self, stream: &StreamName) -> String {
        format!("{}-{stream}", self.prefix)
    }

    pub(super) fn dead(&self, stream: &StreamName) -> String {
        format!("{}-{stream}{DEAD}", self.prefix)
    }

    pub(super) fn origin(&self) -> &str {
        &self.prefix[..self.origin_bytes]
    }

    pub(super) fn region(&self) -> Option<&str> {
        self.region.as_deref()
    }
}

fn aws_region(host: &str) -> Option<String> {
    let rest = host.strip_prefix("sqs.")?;
    let region = rest.strip_suffix(".amazonaws.com").or_else(|| rest.strip_suffix(".amazonaws.com.cn"))?;
    (!region.is_empty() && !region.contains('.')).then(|| region.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_follow_from_the_prefix_and_the_stream() {
        let stream = StreamName::new("issue_viewed").unwrap();
        let urls = QueueUrls::new("https://sqs.eu-west-1.amazonaws.com/123456789012/eventlane").unwrap();
        let main = "https://sqs.eu-west-1.amazonaws.com/123456789012/eventlane-issue_viewed";
        assert_eq!(urls.main(&stream), main);
        assert_eq!(urls.dead(&stream), format!("{main}-dlq"));
        assert_eq!(urls.region(), Some("eu-west-1"));
        let china = QueueUrls::new("https://sqs.cn-north-1.amazonaws.com.cn/1/e").unwrap();
        assert_eq!(china.region(), Some("cn-north-1"));
        let local = QueueUrls::new("http://127.0.0.1:4566/queue/us-east-1/000000000000/eventlane").unwrap();
        assert_eq!((local.origin(), local.region()), ("http://127.0.0.1:4566", None));
    }

    #[test]
    fn a_prefix_that_names_no_queues_is_refused_with_its_trouble() {
        for (prefix, trouble) in [
            ("", "has no scheme"),
            ("eventlane", "has no scheme"),
            ("ftp://host/eventlane", "must be an http or https URL"),
            ("https:///eventlane", "names no host"),
            ("https://:443/eventlane", "names no host"),
            ("https://host", "must end with"),
            ("https://host/1/", "must end with"),
            ("https://host/1/event.fifo", "letters, digits, hyphens"),
            ("https://host/1/event?x", "no query"),
            ("https://user@host/1/event", "no user"),
            (&format!("https://host/1/{}", "e".repeat(46)), "46 characters, at most 45"),
        ] {
            let error = QueueUrls::new(prefix).unwrap_err().to_string();
            assert!(error.contains(trouble), "{prefix}: {error}");
        }
        assert!(QueueUrls::new(&format!("https://host/1/{}", "e".repeat(45))).is_ok());
    }
}

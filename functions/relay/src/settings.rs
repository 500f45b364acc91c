//! The function's settings, from environment variables.
//!
//! | variable | what |
//! | --- | --- |
//! | `EVENTLANE_RELAY_URL` | the outbox's database, `postgres://…` or `mysql://…`; may go without its user and password when a secret is named |
//! | `EVENTLANE_RELAY_SECRET_ID` | a secret of Secrets Manager with `username` and `password`, read through AWS's Parameters and Secrets extension |
//! | `EVENTLANE_QUEUE_URL_PREFIX` | URL of the queues up to the stream's name, region and account in it |
//! | `EVENTLANE_RELAY_TOPICS` | `topic=stream`, comma-separated; without it each stream takes the topic of its own name |
//! | `EVENTLANE_RELAY_POOLER_SAFE` | `true` behind RDS Proxy or pgbouncer; `false` if not set |
//! | `EVENTLANE_RELAY_BATCH` | rows claimed at once, 1 to 1000; 100 if not set |
//! | `EVENTLANE_RELAY_LEASE_SECONDS` | 1 to 3600; 30 if not set |
//! | `EVENTLANE_RELAY_MAX_ATTEMPTS` | 1 to 1000; 10 if not set |
//! | `EVENTLANE_RELAY_RETENTION_DAYS` | how long delivered rows stay; 7 if not set |
//! | `EVENTLANE_MARGIN_SECONDS` | kept free before the deadline for one publish; 5 if not set |

use std::str::FromStr;
use std::time::Duration;

use anyhow::{Result, bail};
use eventlane_relay::DispatchOptions;

pub(crate) struct Settings {
    pub(crate) url: String,
    pub(crate) secret_id: Option<String>,
    pub(crate) queue_url_prefix: String,
    /// None: each stream's own name.
    pub(crate) topics: Option<Vec<(String, String)>>,
    pub(crate) pooler_safe: bool,
    pub(crate) options: DispatchOptions,
    pub(crate) margin: Duration,
}

impl Settings {
    /// Reads the settings, naming every variable that is missing or can't be read; ranges are judged
    /// by the dispatcher.
    pub(crate) fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Self> {
        let set = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let mut faults = Vec::new();
        let mut needed = |name: &str| {
            set(name).unwrap_or_else(|| {
                faults.push(format!("{name} is not set"));
                String::new()
            })
        };
        let url = needed("EVENTLANE_RELAY_URL");
        let queue_url_prefix = needed("EVENTLANE_QUEUE_URL_PREFIX");
        let topics = set("EVENTLANE_RELAY_TOPICS").map(|text| pairs(&text, &mut faults));
        let defaults = DispatchOptions::default();
        let batch = read(&set, "EVENTLANE_RELAY_BATCH", defaults.batch, &mut faults);
        let lease = read(&set, "EVENTLANE_RELAY_LEASE_SECONDS", 30, &mut faults);
        let max_attempts = read(&set, "EVENTLANE_RELAY_MAX_ATTEMPTS", defaults.max_attempts, &mut faults);
        let days: u32 = read(&set, "EVENTLANE_RELAY_RETENTION_DAYS", 7, &mut faults);
        let margin = read(&set, "EVENTLANE_MARGIN_SECONDS", 5, &mut faults);
        let pooler_safe = read(&set, "EVENTLANE_RELAY_POOLER_SAFE", false, &mut faults);
        if !faults.is_empty() {
            bail!("the relay can't start: {}", faults.join("; "));
        }
        let options = DispatchOptions {
            batch,
            lease: Duration::from_secs(lease),
            max_attempts,
            retention: Some(Duration::from_secs(u64::from(days) * 86_400)),
            ..defaults
        };
        let secret_id = set("EVENTLANE_RELAY_SECRET_ID");
        let margin = Duration::from_secs(margin);
        Ok(Self { url, secret_id, queue_url_prefix, topics, pooler_safe, options, margin })
    }
}

fn pairs(text: &str, faults: &mut Vec<String>) -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    for pair in text.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
        match pair.split_once('=') {
            Some((topic, stream)) => pairs.push((topic.trim().to_owned(), stream.trim().to_owned())),
            None => faults.push(format!("EVENTLANE_RELAY_TOPICS: {pair} is not topic=stream")),
        }
    }
    pairs
}

fn read<T: FromStr>(
    set: &impl Fn(&str) -> Option<String>,
    name: &str,
    default: T,
    faults: &mut Vec<String>,
) -> T {
    match set(name).map(|text| text.trim().parse()) {
        None => default,
        Some(Ok(value)) => value,
        Some(Err(_)) => {
            faults
                .push(format!("{name} can't be read: a whole number, or true or false where it is a choice"));
            default
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_offender_is_named_in_one_error() {
        let text = Settings::read(|name| match name {
            "EVENTLANE_RELAY_TOPICS" => Some("a=b, nothing".to_owned()),
            "EVENTLANE_RELAY_BATCH" => Some("many".to_owned()),
            _ => None,
        });
        let text = text.err().unwrap().to_string();
        for name in ["EVENTLANE_RELAY_URL", "EVENTLANE_QUEUE_URL_PREFIX", "nothing", "EVENTLANE_RELAY_BATCH"]
        {
            assert!(text.contains(name), "{name} is missing in {text}");
        }
    }

    #[test]
    fn topics_are_pairs() {
        let settings = Settings::read(|name| match name {
            "EVENTLANE_RELAY_URL" | "EVENTLANE_QUEUE_URL_PREFIX" => Some("x".to_owned()),
            "EVENTLANE_RELAY_TOPICS" => Some("order.created = orders,b=c".to_owned()),
            _ => None,
        })
        .unwrap();
        let pair = |topic: &str, stream: &str| (topic.to_owned(), stream.to_owned());
        assert_eq!(settings.topics, Some(vec![pair("order.created", "orders"), pair("b", "c")]));
        assert_eq!((settings.options, settings.pooler_safe), (DispatchOptions::default(), false));
    }
}

//! The function's settings, from environment variables.
//!
//! | variable | what |
//! | --- | --- |
//! | `EVENTLANE_QUEUE_URL_PREFIX` | URL of the queues up to the stream's name, region and account in it |
//! | `EVENTLANE_STREAMS` | the streams it takes, comma between; all of the registry if not set |
//! | `EVENTLANE_ARCHIVE_TABLE` | the DynamoDB table that events are archived in |
//! | `EVENTLANE_LEDGER_TABLE` | a DynamoDB table of idempotency marks; without it the archive's key alone dedupes |
//! | `EVENTLANE_HALVE` | `true` tries halves on the last attempt; `false` if not set |
//! | `EVENTLANE_VISIBILITY_SECONDS` | lease on a message, 1 to 43200; 60 if not set |
//! | `EVENTLANE_MAX_ATTEMPTS` | attempts before a dead letter, 1 to 100; 5 if not set |
//! | `EVENTLANE_MARGIN_SECONDS` | kept free before the deadline for one callback; 5 if not set |
//! | `EVENTLANE_METRICS_NAMESPACE` | CloudWatch namespace of the metrics; `Eventlane` if not set, `off` for none |

use std::str::FromStr;
use std::time::Duration;

use anyhow::{Result, bail};
use eventlane_consumer::DeliveryOptions;

pub(crate) struct Settings {
    pub(crate) queue_url_prefix: String,
    pub(crate) streams: Option<Vec<String>>,
    pub(crate) archive_table: String,
    pub(crate) ledger_table: Option<String>,
    pub(crate) delivery: DeliveryOptions,
    pub(crate) margin: Duration,
    pub(crate) metrics_namespace: Option<String>,
}

impl Settings {
    /// Reads the settings, naming every variable that is missing or no number; ranges are judged by
    /// the consumer.
    pub(crate) fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Self> {
        let mut faults = Vec::new();
        let set = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let mut needed = |name: &str| {
            set(name).unwrap_or_else(|| {
                faults.push(format!("{name} is not set"));
                String::new()
            })
        };
        let queue_url_prefix = needed("EVENTLANE_QUEUE_URL_PREFIX");
        let archive_table = needed("EVENTLANE_ARCHIVE_TABLE");
        let defaults = DeliveryOptions::default();
        let visibility =
            number(&set, "EVENTLANE_VISIBILITY_SECONDS", defaults.visibility.as_secs(), &mut faults);
        let max_attempts = number(&set, "EVENTLANE_MAX_ATTEMPTS", defaults.max_attempts, &mut faults);
        let halve = number(&set, "EVENTLANE_HALVE", false, &mut faults);
        let margin = number(&set, "EVENTLANE_MARGIN_SECONDS", 5, &mut faults);
        if !faults.is_empty() {
            bail!("the drain can't start: {}", faults.join("; "));
        }
        let delivery =
            DeliveryOptions { visibility: Duration::from_secs(visibility), max_attempts, halve, ..defaults };
        // Unknown names are judged by the consumer, which knows the registry.
        let streams =
            set("EVENTLANE_STREAMS").map(|list| list.split(',').map(|name| name.trim().to_owned()).collect());
        let ledger_table = set("EVENTLANE_LEDGER_TABLE");
        let namespace = set("EVENTLANE_METRICS_NAMESPACE").unwrap_or_else(|| "Eventlane".to_owned());
        Ok(Self {
            queue_url_prefix,
            streams,
            archive_table,
            ledger_table,
            delivery,
            margin: Duration::from_secs(margin),
            metrics_namespace: Some(namespace).filter(|namespace| namespace != "off"),
        })
    }
}

fn number<T: FromStr>(
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
    fn streams_are_a_list_and_all_when_not_set() {
        let variable = |name: &str, streams: &str| match name {
            "EVENTLANE_HALVE" => Some("true".to_owned()),
            "EVENTLANE_STREAMS" => Some(streams.to_owned()),
            _ => Some("1".to_owned()),
        };
        let streams = |text: &str| Settings::read(|name| variable(name, text)).unwrap().streams;
        assert_eq!(
            streams("issue_viewed, earthquake"),
            Some(vec!["issue_viewed".to_owned(), "earthquake".to_owned()])
        );
        assert_eq!(streams(" "), None);
    }

    #[test]
    fn every_offender_is_named_in_one_error() {
        let text = Settings::read(|name| (name == "EVENTLANE_MAX_ATTEMPTS").then(|| "many".to_owned()))
            .err()
            .unwrap()
            .to_string();
        for name in ["EVENTLANE_QUEUE_URL_PREFIX", "EVENTLANE_ARCHIVE_TABLE", "EVENTLANE_MAX_ATTEMPTS"] {
            assert!(text.contains(name), "{name} is missing in {text}");
        }
    }
}

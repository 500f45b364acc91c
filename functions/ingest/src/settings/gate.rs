//! The settings of what stands between the check and the queue: consent, rate limit, nudge.
//!
//! | variable | what |
//! | --- | --- |
//! | `EVENTLANE_CONSENT_TABLE` | a DynamoDB table of consent; without it nothing is asked there |
//! | `EVENTLANE_CONSENT_CLAIM` | the claim that is the table's subject, a path with dots; `sub` if not set |
//! | `EVENTLANE_CONSENT_DEFAULT` | `deny` or `allow` where the table says nothing; `deny` if not set |
//! | `EVENTLANE_GATE_TIMEOUT_MS` | time for the gate's answers to one request, 1 to 20000; 3000 if not set |
//! | `EVENTLANE_RATE_PER_MINUTE` | requests a minute of one subject, 1 to 60000; no limit if not set |
//! | `EVENTLANE_RATE_BURST` | requests at once after a quiet time, 1 to 10000; as many as a minute's if not set |
//! | `EVENTLANE_RATE_SUBJECTS` | subjects remembered, 1 to 100000; 10000 if not set |
//! | `EVENTLANE_RATE_CLAIM` | the claim that is the subject, a path with dots; `sub` if not set |
//! | `EVENTLANE_NUDGE_QUEUE_URL` | the queue that wakes the drain; it isn't woken if not set |
//! | `EVENTLANE_METRICS_NAMESPACE` | CloudWatch namespace of the metrics; `Eventlane` if not set, `off` for none |

use std::time::Duration;

use eventlane_aws::ConsentDefault;
use eventlane_contracts::ClaimPath;
use eventlane_ingest::RateLimitSettings;

use super::number;

/// Longest time that can be set for the gate, in milliseconds: the answer's own.
const GATE_TIMEOUT_MS: u64 = 20_000;

pub(crate) struct GateSettings {
    pub(crate) consent: Option<ConsentSettings>,
    pub(crate) timeout: Duration,
    pub(crate) rate: Option<RateLimitSettings>,
    pub(crate) nudge_queue_url: Option<String>,
    pub(crate) metrics_namespace: Option<String>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ConsentSettings {
    pub(crate) table: String,
    pub(crate) claim: ClaimPath,
    pub(crate) default: ConsentDefault,
}

impl GateSettings {
    /// Reads the settings; every offender is added to `faults`. Ranges of the rate limit and URLs are
    /// judged by those who use them.
    pub(crate) fn read(variable: impl Fn(&str) -> Option<String>, faults: &mut Vec<String>) -> Self {
        let set = |name: &str| variable(name).map(|value| value.trim().to_owned());
        let mut counted = |name: &str, range: &str| number::<u64>(&set, name, range, faults);
        let timeout_ms =
            counted("EVENTLANE_GATE_TIMEOUT_MS", "milliseconds from 1 to 20000").unwrap_or(3_000);
        let per_minute = counted("EVENTLANE_RATE_PER_MINUTE", "requests from 1 to 60000");
        let burst = counted("EVENTLANE_RATE_BURST", "requests from 1 to 10000");
        let subjects = counted("EVENTLANE_RATE_SUBJECTS", "subjects from 1 to 100000");
        if !(1..=GATE_TIMEOUT_MS).contains(&timeout_ms) {
            faults.push(format!(
                "EVENTLANE_GATE_TIMEOUT_MS is {timeout_ms}, it must be 1 to {GATE_TIMEOUT_MS} ms"
            ));
        }
        let claim = |name: &str| ClaimPath::new(set(name).unwrap_or_else(|| "sub".to_owned()).split('.'));
        for name in ["EVENTLANE_CONSENT_CLAIM", "EVENTLANE_RATE_CLAIM"] {
            if claim(name).segments().iter().any(|segment| segment.trim().is_empty()) {
                faults.push(format!(
                    "{name} has an empty segment; it is a path such as app_metadata.person_id"
                ));
            }
        }
        let default = match set("EVENTLANE_CONSENT_DEFAULT").as_deref() {
            None | Some("deny") => ConsentDefault::Deny,
            Some("allow") => ConsentDefault::Allow,
            Some(_) => {
                faults.push("EVENTLANE_CONSENT_DEFAULT must be deny or allow".to_owned());
                ConsentDefault::Deny
            }
        };
        // Half a configuration is a mistake, and a silent one lets in what should be kept out.
        for (needed, names) in [
            ("EVENTLANE_CONSENT_TABLE", &["EVENTLANE_CONSENT_CLAIM", "EVENTLANE_CONSENT_DEFAULT"][..]),
            (
                "EVENTLANE_RATE_PER_MINUTE",
                &["EVENTLANE_RATE_BURST", "EVENTLANE_RATE_SUBJECTS", "EVENTLANE_RATE_CLAIM"],
            ),
        ] {
            for name in names.iter().filter(|name| set(needed).is_none() && set(name).is_some()) {
                faults.push(format!("{name} is set, and {needed} is not"));
            }
        }
        let narrow = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        let rate = per_minute.map(|per_minute| RateLimitSettings {
            requests_per_minute: narrow(per_minute),
            // A minute's worth, as far as one may be set.
            burst: burst.map_or_else(|| narrow(per_minute).min(10_000), narrow),
            subjects: subjects.map_or(10_000, |subjects| usize::try_from(subjects).unwrap_or(usize::MAX)),
            claim: claim("EVENTLANE_RATE_CLAIM"),
        });
        let consent = set("EVENTLANE_CONSENT_TABLE").map(|table| ConsentSettings {
            table,
            claim: claim("EVENTLANE_CONSENT_CLAIM"),
            default,
        });
        let namespace = set("EVENTLANE_METRICS_NAMESPACE").unwrap_or_else(|| "Eventlane".to_owned());
        Self {
            consent,
            timeout: Duration::from_millis(timeout_ms),
            rate,
            nudge_queue_url: set("EVENTLANE_NUDGE_QUEUE_URL"),
            metrics_namespace: Some(namespace).filter(|namespace| namespace != "off"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> (GateSettings, Vec<String>) {
        let mut faults = Vec::new();
        let find = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        (GateSettings::read(find, &mut faults), faults)
    }

    fn sound(variables: &[(&str, &str)]) -> GateSettings {
        let (settings, faults) = read(variables);
        assert_eq!(faults, Vec::<String>::new());
        settings
    }

    #[test]
    fn nothing_set_is_no_table_no_limit_and_no_nudge() {
        let settings = sound(&[]);
        assert!(settings.consent.is_none() && settings.rate.is_none() && settings.nudge_queue_url.is_none());
        assert_eq!(settings.timeout, Duration::from_secs(3));
        assert_eq!(settings.metrics_namespace.as_deref(), Some("Eventlane"));
        assert_eq!(sound(&[("EVENTLANE_METRICS_NAMESPACE", "off")]).metrics_namespace, None);
    }

    #[test]
    fn what_is_set_is_taken() {
        let settings = sound(&[
            ("EVENTLANE_CONSENT_TABLE", "consent"),
            ("EVENTLANE_CONSENT_CLAIM", "app_metadata.person_id"),
            ("EVENTLANE_CONSENT_DEFAULT", "allow"),
            ("EVENTLANE_RATE_PER_MINUTE", "20000"),
        ]);
        let claim = ClaimPath::new(["app_metadata", "person_id"]);
        let consent = ConsentSettings { table: "consent".into(), claim, default: ConsentDefault::Allow };
        assert_eq!(settings.consent, Some(consent));
        let rate = settings.rate.unwrap();
        assert_eq!((rate.requests_per_minute, rate.burst, rate.subjects), (20_000, 10_000, 10_000));
    }

    #[test]
    fn every_offender_is_named() {
        let (_, faults) = read(&[
            ("EVENTLANE_CONSENT_DEFAULT", "maybe"),
            ("EVENTLANE_CONSENT_CLAIM", "a..b"),
            ("EVENTLANE_GATE_TIMEOUT_MS", "20001"),
            ("EVENTLANE_RATE_BURST", "5"),
            ("EVENTLANE_RATE_SUBJECTS", "many"),
        ]);
        let text = faults.join("\n");
        for part in [
            "EVENTLANE_CONSENT_DEFAULT must be",
            "EVENTLANE_CONSENT_CLAIM has an empty segment",
            "EVENTLANE_GATE_TIMEOUT_MS is 20001",
            "EVENTLANE_RATE_BURST is set, and EVENTLANE_RATE_PER_MINUTE is not",
            "EVENTLANE_RATE_SUBJECTS is no whole number",
            "EVENTLANE_CONSENT_CLAIM is set, and EVENTLANE_CONSENT_TABLE is not",
        ] {
            assert!(text.contains(part), "{part} is missing in {text}");
        }
    }
}

//! The function's settings, from environment variables.
//!
//! | variable | what |
//! | --- | --- |
//! | `EVENTLANE_QUEUE_URL_PREFIX` | URL of the queues up to the stream's name, region and account in it |
//! | `EVENTLANE_BASE_PATH` | what a custom domain's mapping puts before the path, `/v1`; stages need no setting |
//!
//! Those of tokens: [`tokens`]; of web pages: [`pages`]; of consent, rate limit, nudge and metrics:
//! [`gate`].

pub(crate) mod gate;
mod pages;
mod tokens;

use std::str::FromStr;
use std::sync::Arc;

use anyhow::{Result, bail};
use eventlane_contracts::{Clock, Registry};
use eventlane_ingest::{Cors, TokenVerifier};
use gate::GateSettings;

pub(crate) struct Settings {
    pub(crate) queue_url_prefix: String,
    pub(crate) base_path: Option<String>,
    pub(crate) tokens: TokenVerifier,
    pub(crate) cors: Option<Cors>,
    pub(crate) gate: GateSettings,
}

impl Settings {
    /// Reads and judges the settings; the prefix's text is judged by who uses it. An error names every
    /// offender.
    pub(crate) fn read(
        variable: impl Fn(&str) -> Option<String>,
        registry: &Registry,
        clock: Arc<dyn Clock>,
    ) -> Result<Self> {
        let set = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let mut faults = Vec::new();
        let queue_url_prefix = set("EVENTLANE_QUEUE_URL_PREFIX");
        if queue_url_prefix.is_none() {
            faults.push(
                "EVENTLANE_QUEUE_URL_PREFIX is not set; it is the queues' URL up to the stream's name, such as \
                 https://sqs.eu-west-1.amazonaws.com/123456789012/eventlane"
                    .to_owned(),
            );
        }
        let base_path = base_path(set, &mut faults);
        let cors = pages::read(set, &mut faults);
        let gate = GateSettings::read(set, &mut faults);
        let tokens = tokens::read(set, registry, clock, &mut faults);
        match (queue_url_prefix, tokens) {
            (Some(queue_url_prefix), Some(tokens)) if faults.is_empty() => {
                Ok(Self { queue_url_prefix, base_path, tokens, cors, gate })
            }
            _ => bail!("the settings are not sound:\n- {}", faults.join("\n- ")),
        }
    }
}

fn base_path(set: impl Fn(&str) -> Option<String>, faults: &mut Vec<String>) -> Option<String> {
    let path = set("EVENTLANE_BASE_PATH")?;
    if path.len() < 2 || !path.starts_with('/') || path.ends_with('/') {
        faults.push(
            "EVENTLANE_BASE_PATH is no path such as /v1: it starts with a slash and ends without one"
                .to_owned(),
        );
    }
    Some(path)
}

/// A whole number, where it is set; `range` says its unit and bounds.
fn number<T: FromStr>(
    set: impl Fn(&str) -> Option<String>,
    name: &str,
    range: &str,
    faults: &mut Vec<String>,
) -> Option<T> {
    let parsed = set(name)?.trim().parse().ok();
    if parsed.is_none() {
        faults.push(format!("{name} is no whole number of {range}"));
    }
    parsed
}

#[cfg(test)]
mod tests {
    use eventlane_contracts::SystemClock;

    use super::*;

    const PREFIX: (&str, &str) = ("EVENTLANE_QUEUE_URL_PREFIX", "https://sqs/1/x");
    const SECRET: (&str, &str) = ("EVENTLANE_HS256_SECRET", "at least thirty-two bytes of a secret");

    fn read(variables: &[(&str, &str)]) -> Result<Settings> {
        let find = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        Settings::read(find, &eventlane_lane::registry().unwrap(), Arc::new(SystemClock))
    }

    fn told(variables: &[(&str, &str)]) -> String {
        read(variables).err().unwrap().to_string()
    }

    #[test]
    fn every_offender_is_named_at_once() {
        let text = told(&[
            ("EVENTLANE_RATE_PER_MINUTE", "many"),
            ("EVENTLANE_LEEWAY_SECONDS", "soon"),
            ("EVENTLANE_JWKS_COOL_DOWN_SECONDS", "-1"),
            ("EVENTLANE_JWKS_TIMEOUT_MS", "20000"),
            ("EVENTLANE_JWKS_URL", "http://id.example.com/keys"),
            ("EVENTLANE_HS256_SECRET", "abc"),
            ("EVENTLANE_ALLOW_ANONYMOUS", "yes"),
        ]);
        for part in [
            "EVENTLANE_QUEUE_URL_PREFIX",
            "EVENTLANE_LEEWAY_SECONDS",
            "EVENTLANE_JWKS_COOL_DOWN_SECONDS",
            "20s",
            "must be https",
            "3 bytes",
            "EVENTLANE_ALLOW_ANONYMOUS",
            "EVENTLANE_RATE_PER_MINUTE",
            "issuer is not set",
            "audience is not set",
        ] {
            assert!(text.contains(part), "{part} is missing in {text}");
        }
        assert!(!text.contains("abc"));
    }

    #[test]
    fn a_number_that_is_none_stops_the_start_alone() {
        assert!(read(&[PREFIX, SECRET]).is_ok());
        let text = told(&[PREFIX, SECRET, ("EVENTLANE_LEEWAY_SECONDS", "1.5")]);
        assert!(
            text.contains("EVENTLANE_LEEWAY_SECONDS is no whole number of seconds from 0 to 300"),
            "{text}"
        );
    }

    #[test]
    fn a_base_path_and_cors_are_read_or_named() {
        assert!(read(&[PREFIX, SECRET]).unwrap().cors.is_none());
        let settings = read(&[
            PREFIX,
            SECRET,
            ("EVENTLANE_BASE_PATH", "/v1"),
            ("EVENTLANE_CORS_ORIGINS", "https://a.example, https://b.example,"),
            ("EVENTLANE_CORS_MAX_AGE_SECONDS", "60"),
        ])
        .unwrap();
        assert_eq!(settings.base_path.as_deref(), Some("/v1"));
        assert!(settings.cors.is_some());
        for (name, value, part) in [
            ("EVENTLANE_BASE_PATH", "v1", "EVENTLANE_BASE_PATH"),
            ("EVENTLANE_BASE_PATH", "/v1/", "EVENTLANE_BASE_PATH"),
            ("EVENTLANE_BASE_PATH", "/", "EVENTLANE_BASE_PATH"),
            ("EVENTLANE_CORS_MAX_AGE_SECONDS", "long", "EVENTLANE_CORS_MAX_AGE_SECONDS"),
            ("EVENTLANE_CORS_METHODS", "POST", "no origin"),
        ] {
            let text = told(&[PREFIX, SECRET, (name, value)]);
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn empty_variables_are_not_set() {
        assert!(read(&[PREFIX, SECRET, ("EVENTLANE_ISSUER", " "), ("EVENTLANE_LEEWAY_SECONDS", "")]).is_ok());
        assert!(told(&[PREFIX, ("EVENTLANE_HS256_SECRET", "  ")]).contains("no key"));
    }

    #[test]
    fn tokenless_ingest_is_refused_beside_streams_with_an_identity() {
        let text = told(&[PREFIX, SECRET, ("EVENTLANE_ALLOW_ANONYMOUS", "true")]);
        assert!(text.contains("allow_anonymous"), "{text}");
    }

    #[test]
    fn audiences_stand_between_commas() {
        let url = ("EVENTLANE_JWKS_URL", "https://id.example.com/keys");
        let issuer = ("EVENTLANE_ISSUER", "https://id.example.com/");
        assert!(read(&[PREFIX, url, issuer, ("EVENTLANE_AUDIENCE", "phone, desktop")]).is_ok());
        assert!(told(&[PREFIX, url, issuer, ("EVENTLANE_AUDIENCE", " , ")]).contains("audience is not set"));
    }
}

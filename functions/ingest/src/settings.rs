//! The function's settings, from environment variables; those of consent, rate limit and nudge are in
//! [`gate`].
//!
//! | variable | what |
//! | --- | --- |
//! | `EVENTLANE_QUEUE_URL_PREFIX` | URL of the queues up to the stream's name, region and account in it |
//! | `EVENTLANE_HS256_SECRET` | shared secret of HS256 tokens, at least 32 bytes |
//! | `EVENTLANE_RS256_PUBLIC_KEY` | public key of RS256 tokens, PEM, at least 2048 bits |
//! | `EVENTLANE_ISSUER`, `EVENTLANE_AUDIENCE` | what tokens must carry, where set |
//! | `EVENTLANE_LEEWAY_SECONDS` | seconds by which times may be off, 0 to 300; 30 if not set |

pub(crate) mod gate;

use anyhow::{Result, bail};
use eventlane_ingest::TokenSettings;

pub(crate) struct Settings {
    pub(crate) queue_url_prefix: String,
    pub(crate) tokens: TokenSettings,
}

impl Settings {
    /// Reads the settings; keys and the prefix are judged by those who use them.
    pub(crate) fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Self> {
        let set = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let Some(queue_url_prefix) = set("EVENTLANE_QUEUE_URL_PREFIX") else {
            bail!(
                "EVENTLANE_QUEUE_URL_PREFIX is not set; it is the queues' URL up to the stream's name, such as \
                 https://sqs.eu-west-1.amazonaws.com/123456789012/eventlane"
            );
        };
        let leeway_seconds = match set("EVENTLANE_LEEWAY_SECONDS").map(|text| text.trim().parse()) {
            None => None,
            Some(Ok(seconds)) => Some(seconds),
            Some(Err(_)) => bail!("EVENTLANE_LEEWAY_SECONDS is no whole number of seconds from 0 to 300"),
        };
        Ok(Self {
            queue_url_prefix,
            tokens: TokenSettings {
                hs256_secret: set("EVENTLANE_HS256_SECRET"),
                rs256_public_key: set("EVENTLANE_RS256_PUBLIC_KEY"),
                issuer: set("EVENTLANE_ISSUER"),
                audience: set("EVENTLANE_AUDIENCE"),
                leeway_seconds,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Settings> {
        let find = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        Settings::read(find)
    }

    #[test]
    fn a_missing_prefix_or_an_odd_leeway_is_named() {
        let missing = read(&[]).err().unwrap().to_string();
        assert!(missing.contains("EVENTLANE_QUEUE_URL_PREFIX"), "{missing}");
        let prefix = ("EVENTLANE_QUEUE_URL_PREFIX", "https://sqs/1/x");
        let odd = read(&[prefix, ("EVENTLANE_LEEWAY_SECONDS", "soon")]).err().unwrap().to_string();
        assert!(odd.contains("EVENTLANE_LEEWAY_SECONDS"), "{odd}");
    }

    #[test]
    fn empty_variables_are_not_set() {
        let settings =
            read(&[("EVENTLANE_QUEUE_URL_PREFIX", "https://sqs/1/x"), ("EVENTLANE_ISSUER", " ")]).unwrap();
        assert_eq!((settings.tokens.issuer, settings.tokens.hs256_secret), (None, None));
    }
}

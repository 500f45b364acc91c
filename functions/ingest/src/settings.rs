//! The function's settings, from environment variables.
//!
//! | variable | what |
//! | --- | --- |
//! | `EVENTLANE_QUEUE_URL_PREFIX` | URL of the queues up to the stream's name, region and account in it |
//! | `EVENTLANE_HS256_SECRET` | shared secret of HS256 tokens, at least 32 bytes |
//! | `EVENTLANE_RS256_PUBLIC_KEY` | public key of RS256 tokens, PEM, at least 2048 bits |
//! | `EVENTLANE_ISSUER`, `EVENTLANE_AUDIENCE` | what tokens must carry, where set |
//! | `EVENTLANE_LEEWAY_SECONDS` | seconds by which times may be off, 0 to 300; 30 if not set |
//! | `EVENTLANE_BASE_PATH` | what a custom domain's mapping puts before the path, `/v1`; stages need no setting |
//! | `EVENTLANE_CORS_ORIGINS` | origins whose pages may send, with commas, or `*`; no cross-origin requests if not set |
//! | `EVENTLANE_CORS_METHODS`, `EVENTLANE_CORS_HEADERS` | what such pages may use, with commas |
//! | `EVENTLANE_CORS_MAX_AGE_SECONDS` | seconds a browser may remember that, 0 to 86400; 7200 if not set |

use anyhow::{Result, bail};
use eventlane_ingest::{CorsSettings, TokenSettings};

pub(crate) struct Settings {
    pub(crate) queue_url_prefix: String,
    pub(crate) tokens: TokenSettings,
    pub(crate) base_path: Option<String>,
    pub(crate) cors: Option<CorsSettings>,
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
            base_path: base_path(&set)?,
            cors: cors(&set)?,
        })
    }
}

fn base_path(set: &impl Fn(&str) -> Option<String>) -> Result<Option<String>> {
    let path = set("EVENTLANE_BASE_PATH");
    let sound = |path: &String| path.len() > 1 && path.starts_with('/') && !path.ends_with('/');
    if path.as_ref().is_some_and(|path| !sound(path)) {
        bail!("EVENTLANE_BASE_PATH is no path such as /v1: it starts with a slash and ends without one");
    }
    Ok(path)
}

fn cors(set: &impl Fn(&str) -> Option<String>) -> Result<Option<CorsSettings>> {
    let list = |name: &str| -> Vec<String> {
        let text = set(name).unwrap_or_default();
        text.split(',').map(str::trim).filter(|item| !item.is_empty()).map(str::to_owned).collect()
    };
    let max_age_seconds = match set("EVENTLANE_CORS_MAX_AGE_SECONDS").map(|text| text.trim().parse()) {
        None => None,
        Some(Ok(seconds)) => Some(seconds),
        Some(Err(_)) => bail!("EVENTLANE_CORS_MAX_AGE_SECONDS is no whole number of seconds from 0 to 86400"),
    };
    let settings = CorsSettings {
        origins: list("EVENTLANE_CORS_ORIGINS"),
        methods: list("EVENTLANE_CORS_METHODS"),
        headers: list("EVENTLANE_CORS_HEADERS"),
        max_age_seconds,
    };
    // Settings without an origin are judged too: they were meant to do something.
    Ok((settings != CorsSettings::default()).then_some(settings))
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
    fn a_base_path_and_cors_are_read_or_named() {
        let prefix = ("EVENTLANE_QUEUE_URL_PREFIX", "https://sqs/1/x");
        assert!(read(&[prefix]).unwrap().cors.is_none());
        let cors = [
            prefix,
            ("EVENTLANE_BASE_PATH", "/v1"),
            ("EVENTLANE_CORS_ORIGINS", "https://a.example, https://b.example,"),
            ("EVENTLANE_CORS_MAX_AGE_SECONDS", "60"),
        ];
        let settings = read(&cors).unwrap();
        assert_eq!(settings.base_path.as_deref(), Some("/v1"));
        let cors = settings.cors.unwrap();
        assert_eq!(cors.origins, ["https://a.example", "https://b.example"]);
        assert_eq!(cors.max_age_seconds, Some(60));
        for (name, value) in [
            ("EVENTLANE_BASE_PATH", "v1"),
            ("EVENTLANE_BASE_PATH", "/v1/"),
            ("EVENTLANE_BASE_PATH", "/"),
            ("EVENTLANE_CORS_MAX_AGE_SECONDS", "long"),
        ] {
            let error = read(&[prefix, (name, value)]).err().unwrap().to_string();
            assert!(error.contains(name), "{error}");
        }
        assert!(
            read(&[prefix, ("EVENTLANE_CORS_METHODS", "POST")]).unwrap().cors.is_some(),
            "an origin is missed"
        );
    }

    #[test]
    fn empty_variables_are_not_set() {
        let settings =
            read(&[("EVENTLANE_QUEUE_URL_PREFIX", "https://sqs/1/x"), ("EVENTLANE_ISSUER", " ")]).unwrap();
        assert_eq!((settings.tokens.issuer, settings.tokens.hs256_secret), (None, None));
    }
}

//! Cross-origin requests: off until the origins that may make them are named.

use std::time::Duration;

use axum::Router;
use axum::http::header::{AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, RETRY_AFTER};
use axum::http::uri::Uri;
use axum::http::{HeaderName, HeaderValue, Method};
use tower_http::cors::{AllowOrigin, CorsLayer};

/// Seconds a browser may remember a preflight's answer, where settings don't say: two hours, beyond
/// which no browser goes.
const MAX_AGE_SECONDS: u32 = 7200;

/// Most seconds that may be asked for: a day.
const MOST_MAX_AGE_SECONDS: u32 = 86_400;

/// Every offender of the settings for cross-origin requests.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the settings for cross-origin requests are not sound:\n- {}", .0.join("\n- "))]
pub struct CorsSettingsError(Vec<String>);

impl CorsSettingsError {
    /// One text for each setting that can't be used.
    #[must_use]
    pub fn offenders(&self) -> &[String] {
        &self.0
    }
}

/// Which pages of other origins may use the door from a browser. Credentials are the bearer token
/// alone: cookies are never allowed, so an origin gains nothing without a token.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CorsSettings {
    /// Origins as a browser sends them, `https://app.example.com`, or `*` alone for every one. At
    /// least one.
    pub origins: Vec<String>,
    /// Methods; where empty `GET` and `POST`.
    pub methods: Vec<String>,
    /// Request headers; where empty `authorization`, `content-type`, `content-encoding` and
    /// `traceparent`.
    pub headers: Vec<String>,
    /// Seconds a preflight's answer may be remembered, 0 to 86,400; 7,200 where not set.
    pub max_age_seconds: Option<u32>,
}

/// Sound settings, ready to be put around a router.
#[derive(Debug, Clone)]
pub struct Cors(CorsLayer);

impl Cors {
    /// Judges the settings.
    ///
    /// # Errors
    /// [`CorsSettingsError`] with every offender: no origin, `*` beside others, an origin that no
    /// browser sends, a method or header that is none, an age above a day.
    pub fn new(settings: &CorsSettings) -> Result<Self, CorsSettingsError> {
        let mut faults = Vec::new();
        let origins = origins(&settings.origins, &mut faults);
        let methods = listed(&settings.methods, "method", &[Method::GET, Method::POST], &mut faults);
        let usual = [AUTHORIZATION, CONTENT_TYPE, CONTENT_ENCODING, HeaderName::from_static("traceparent")];
        let headers = listed(&settings.headers, "header", &usual, &mut faults);
        let max_age = settings.max_age_seconds.unwrap_or(MAX_AGE_SECONDS);
        if max_age > MOST_MAX_AGE_SECONDS {
            faults.push(format!("max age is {max_age} s, it must be 0 to {MOST_MAX_AGE_SECONDS} s"));
        }
        if !faults.is_empty() {
            return Err(CorsSettingsError(faults));
        }
        let layer = CorsLayer::new()
            .allow_origin(origins)
            .allow_methods(methods)
            .allow_headers(headers)
            .expose_headers([RETRY_AFTER])
            .max_age(Duration::from_secs(max_age.into()));
        Ok(Self(layer))
    }

    /// Puts them around every route: a preflight is answered here, without a token, and every other
    /// answer, a fault too, says which origin may read it.
    pub fn around(self, router: Router) -> Router {
        router.layer(self.0)
    }
}

fn origins(origins: &[String], faults: &mut Vec<String>) -> AllowOrigin {
    if origins == ["*"] {
        return AllowOrigin::any();
    }
    if origins.is_empty() {
        faults.push("no origin: name them, or * for every one".to_owned());
    }
    let mut sound = Vec::new();
    for origin in origins {
        match origin.parse::<HeaderValue>() {
            Ok(value) if is_origin(origin) => sound.push(value),
            _ if origin == "*" => faults.push("* stands beside other origins".to_owned()),
            _ => faults.push(format!(
                "{origin} is no origin; one looks like https://app.example.com, lower case, without a path"
            )),
        }
    }
    AllowOrigin::list(sound)
}

/// Whether a browser could send it: scheme, host, perhaps a port that is not the scheme's own.
fn is_origin(text: &str) -> bool {
    let Ok(uri) = text.parse::<Uri>() else { return false };
    let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else { return false };
    let own_port = match scheme {
        "http" => Some(80),
        "https" => Some(443),
        _ => None,
    };
    let port = authority.port_u16();
    let bare = format!("{scheme}://{}", authority.as_str());
    text == bare
        && text == text.to_ascii_lowercase()
        && !authority.as_str().contains('@')
        && !authority.host().is_empty()
        && (port.is_none() || port != own_port)
}

/// What was asked for, or what is usual when nothing was.
fn listed<T: Clone + std::str::FromStr>(
    asked: &[String],
    what: &str,
    usual: &[T],
    faults: &mut Vec<String>,
) -> Vec<T> {
    if asked.is_empty() {
        return usual.to_vec();
    }
    let mut sound = Vec::new();
    for text in asked {
        match text.parse() {
            Ok(value) => sound.push(value),
            Err(_) => faults.push(format!("{text} is no {what}")),
        }
    }
    sound
}

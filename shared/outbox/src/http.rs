//! The HTTP transport: ureq over rustls with aws-lc.

use std::sync::Arc;
use std::time::Duration;

use eventlane_contracts::wire::EVENTS_PATH;
use ureq::tls::{TlsConfig, TlsProvider};
use ureq::{Agent, http};

use crate::error::{ConfigError, TransportError};
use crate::transport::{PostRequest, PostResponse, Transport};

/// Time to connect, name and TLS included. Phones change networks: better to try again soon.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Time of the whole exchange; above the 29 s that gateways allow their back end.
const TOTAL_TIMEOUT: Duration = Duration::from_secs(30);

/// Bytes of an answer that are read: 1,000 verdicts with the longest reasons, every byte of them
/// escaped, take 1.7 MB.
const ANSWER_BYTES: u64 = 2_097_152;

/// Posts to one URL. Follows no redirect, so the token never leaves for another origin.
pub struct HttpTransport {
    agent: Agent,
    url: String,
}

impl HttpTransport {
    /// A transport to `url`: `https://host/api/events`; `http` on a loopback host only.
    ///
    /// # Errors
    /// [`ConfigError`] naming everything that is wrong with the URL.
    pub fn new(url: &str) -> Result<Self, ConfigError> {
        let is_loopback = judge(url)?;
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let tls = TlsConfig::builder()
            .provider(TlsProvider::Rustls)
            .unversioned_rustls_crypto_provider(provider)
            .build();
        let mut config = Agent::config_builder()
            .tls_config(tls)
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .timeout_global(Some(TOTAL_TIMEOUT))
            .user_agent(concat!("eventlane-outbox/", env!("CARGO_PKG_VERSION")));
        if is_loopback {
            // A proxy of the environment has no business with this machine's own ports.
            config = config.proxy(None);
        }
        Ok(Self { agent: config.build().new_agent(), url: url.to_owned() })
    }
}

impl std::fmt::Debug for HttpTransport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpTransport").field("url", &self.url).finish_non_exhaustive()
    }
}

impl Transport for HttpTransport {
    fn post(&self, request: PostRequest<'_>) -> Result<PostResponse, TransportError> {
        let mut post = self.agent.post(&self.url).content_type("application/json");
        if let Some(token) = request.token {
            post = post.header(http::header::AUTHORIZATION, format!("Bearer {token}"));
        }
        let mut response = post.send(request.body).map_err(|error| kind(&error))?;
        let status = response.status().as_u16();
        let retry_after = response.headers().get(http::header::RETRY_AFTER);
        let retry_after = retry_after.and_then(|value| value.to_str().ok()).map(str::to_owned);
        let body = if status == 200 {
            response
                .body_mut()
                .with_config()
                .limit(ANSWER_BYTES)
                .read_to_vec()
                .map_err(|error| kind(&error))?
        } else {
            Vec::new()
        };
        Ok(PostResponse { status, retry_after, body })
    }
}

/// The kind alone: ureq's own texts may quote what was sent.
fn kind(error: &ureq::Error) -> TransportError {
    use ureq::Error as E;
    match error {
        E::Timeout(_) => TransportError::Timeout,
        E::HostNotFound | E::ConnectionFailed | E::ConnectProxyFailed(_) => TransportError::Connect,
        E::Tls(_) | E::Rustls(_) | E::TlsRequired => TransportError::Tls,
        E::BodyExceedsLimit(_) => TransportError::TooLarge,
        E::Io(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => TransportError::Connect,
        E::Io(error) if error.kind() == std::io::ErrorKind::TimedOut => TransportError::Timeout,
        _ => TransportError::Broken,
    }
}

/// Every fault of the URL; whether it is this machine itself.
fn judge(url: &str) -> Result<bool, ConfigError> {
    let mut faults = Vec::new();
    // `Uri` drops a fragment in silence, so the text itself is looked at.
    if url.contains(['?', '#']) {
        faults.push("URL has a query or a fragment".to_owned());
    }
    let bare = url.split(['?', '#']).next().unwrap_or_default();
    let Ok(uri) = bare.parse::<http::Uri>() else {
        faults.push("URL can't be read; it is https://host/api/events".to_owned());
        return Err(ConfigError(faults));
    };
    let host = uri.host().unwrap_or_default();
    if host.is_empty() {
        faults.push("URL has no host".to_owned());
    }
    if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        faults.push("URL has a user or a password; tokens come from the token source".to_owned());
    }
    let is_loopback = is_loopback(host);
    match uri.scheme_str() {
        Some("https") => {}
        Some("http") if is_loopback => {}
        Some("http") => faults.push(format!("URL is http, which is for loopback hosts only, not {host:?}")),
        _ => faults.push("URL is not https".to_owned()),
    }
    if uri.path() != EVENTS_PATH {
        faults.push(format!("URL's path is {:?}, it must be {EVENTS_PATH}", uri.path()));
    }
    if faults.is_empty() { Ok(is_loopback) } else { Err(ConfigError(faults)) }
}

fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || bare.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::HttpTransport;

    #[test]
    fn the_url_is_the_route_on_https_or_on_this_machine() {
        for good in [
            "https://events.example.com/api/events",
            "https://events.example.com:8443/api/events",
            "http://localhost:8787/api/events",
            "http://127.0.0.1:8787/api/events",
            "http://127.8.8.8/api/events",
            "http://[::1]:8787/api/events",
        ] {
            assert!(HttpTransport::new(good).is_ok(), "{good}");
        }
        for (bad, offenders) in [
            ("http://events.example.com/api/events", 1),
            ("http://localhost.example.com/api/events", 1),
            ("https://events.example.com/api/events?x=1", 1),
            ("https://events.example.com/api/events#x", 1),
            ("https://events.example.com/api/events/", 1),
            ("https://events.example.com", 1),
            ("https://user:secret@events.example.com/api/events", 1),
            ("ftp://events.example.com/api/events", 1),
            ("http://events.example.com/events?x", 3),
            ("/api/events", 2),
            ("", 1),
            ("https://a b/api/events", 1),
        ] {
            let error = HttpTransport::new(bad).unwrap_err();
            assert_eq!(error.offenders().len(), offenders, "{bad}: {error}");
            assert!(!error.to_string().contains("secret"));
        }
    }
}

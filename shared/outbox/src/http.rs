//! The HTTP transport: ureq over rustls with aws-lc.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use eventlane_contracts::wire::EVENTS_PATH;
use ureq::tls::{PemItem, RootCerts, TlsConfig, TlsProvider, parse_pem};
use ureq::{Agent, http};

use crate::error::{ConfigError, TransportError};
use crate::gzip::compressed;
use crate::redirect::{MAX_HOPS, within_origin};
use crate::transport::{PostRequest, PostResponse, Transport};

/// Time to connect, name and TLS included. Phones change networks: better to try again soon.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Time of the whole exchange; above the 29 s that gateways allow their back end.
const TOTAL_TIMEOUT: Duration = Duration::from_secs(30);

/// Bytes of an answer that are read: 1,000 verdicts with the longest reasons, every byte of them
/// escaped, take 1.7 MB.
const ANSWER_BYTES: u64 = 2_097_152;

/// How a transport posts. Start from `HttpOptions::default()`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpOptions {
    /// Whether larger bodies are gzipped. A 415 ends that: the body is sent again plain, and so are all
    /// after it. Default `false`.
    pub gzip: bool,
    /// PEM text of the certificates to trust instead of the public ones, for a private root. Default
    /// `None`.
    pub root_certificates: Option<String>,
    /// Time to connect, name and TLS included. Default 10 s.
    pub connect_timeout: Duration,
    /// Time of a whole exchange. Default 30 s.
    pub total_timeout: Duration,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            gzip: false,
            root_certificates: None,
            connect_timeout: CONNECT_TIMEOUT,
            total_timeout: TOTAL_TIMEOUT,
        }
    }
}

/// Posts to one URL. A 307 or 308 within its origin is followed with the same body; no other redirect
/// is, so the token never leaves for another origin.
pub struct HttpTransport {
    agent: Agent,
    url: String,
    gzips: AtomicBool,
}

impl HttpTransport {
    /// A transport to `url`: `https://host/api/events`; `http` on a loopback host only.
    ///
    /// # Errors
    /// [`ConfigError`] naming everything that is wrong with the URL.
    pub fn new(url: &str) -> Result<Self, ConfigError> {
        Self::with(url, &HttpOptions::default())
    }

    /// A transport to `url`, as [`new`](Self::new) takes it, with options.
    ///
    /// # Errors
    /// [`ConfigError`] naming everything that is wrong with the URL and the options.
    pub fn with(url: &str, options: &HttpOptions) -> Result<Self, ConfigError> {
        let (is_loopback, roots) = match (judge(url), roots(options)) {
            (Ok(is_loopback), Ok(roots)) => (is_loopback, roots),
            (url, roots) => {
                let faults = [url.err(), roots.err()].into_iter().flatten().flat_map(|error| error.0);
                return Err(ConfigError(faults.collect()));
            }
        };
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let tls = TlsConfig::builder()
            .provider(TlsProvider::Rustls)
            .root_certs(roots)
            .unversioned_rustls_crypto_provider(provider)
            .build();
        let mut config = Agent::config_builder()
            .tls_config(tls)
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_connect(Some(options.connect_timeout))
            .timeout_global(Some(options.total_timeout))
            .user_agent(concat!("eventlane-outbox/", env!("CARGO_PKG_VERSION")));
        if is_loopback {
            // A proxy of the environment has no business with this machine's own ports.
            config = config.proxy(None);
        }
        Ok(Self {
            agent: config.build().new_agent(),
            url: url.to_owned(),
            gzips: AtomicBool::new(options.gzip),
        })
    }
}

impl std::fmt::Debug for HttpTransport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpTransport").field("url", &self.url).finish_non_exhaustive()
    }
}

impl Transport for HttpTransport {
    fn post(&self, request: PostRequest<'_>) -> Result<PostResponse, TransportError> {
        if self.gzips.load(Ordering::Relaxed)
            && let Some(gzipped) = compressed(request.body)
        {
            let response = self.follow(&gzipped, true, request.token)?;
            if response.status != 415 {
                return Ok(response);
            }
            // An older server, or a road that takes no encoding: it won't take the next one either.
            self.gzips.store(false, Ordering::Relaxed);
        }
        self.follow(request.body, false, request.token)
    }
}

impl HttpTransport {
    /// Posts, and again where a redirect within the origin leads.
    fn follow(
        &self,
        body: &[u8],
        is_gzipped: bool,
        token: Option<&str>,
    ) -> Result<PostResponse, TransportError> {
        let mut url = self.url.clone();
        for _ in 0..MAX_HOPS {
            let (response, location) = self.post_to(&url, body, is_gzipped, token)?;
            match location.and_then(|location| within_origin(&url, &location)) {
                Some(target) if matches!(response.status, 307 | 308) => url = target,
                _ => return Ok(response),
            }
        }
        Ok(self.post_to(&url, body, is_gzipped, token)?.0)
    }

    /// One request; its answer, and where that leads.
    fn post_to(
        &self,
        url: &str,
        body: &[u8],
        is_gzipped: bool,
        token: Option<&str>,
    ) -> Result<(PostResponse, Option<String>), TransportError> {
        let mut post = self.agent.post(url).content_type("application/json");
        if let Some(token) = token {
            post = post.header(http::header::AUTHORIZATION, format!("Bearer {token}"));
        }
        if is_gzipped {
            post = post.header(http::header::CONTENT_ENCODING, "gzip");
        }
        let mut response = post.send(body).map_err(|error| kind(&error))?;
        let status = response.status().as_u16();
        let header = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
        let retry_after = header(http::header::RETRY_AFTER).map(str::to_owned);
        let date = header(http::header::DATE).map(str::to_owned);
        let location = header(http::header::LOCATION).map(str::to_owned);
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
        Ok((PostResponse { status, retry_after, date, body }, location))
    }
}

/// Whom to trust.
fn roots(options: &HttpOptions) -> Result<RootCerts, ConfigError> {
    let mut faults = Vec::new();
    for (name, timeout) in [("connect", options.connect_timeout), ("total", options.total_timeout)] {
        if timeout.is_zero() {
            faults.push(format!("{name}_timeout 0 would never get an answer"));
        }
    }
    let mut roots = Vec::new();
    if let Some(pem) = &options.root_certificates {
        for item in parse_pem(pem.as_bytes()) {
            match item {
                Ok(PemItem::Certificate(certificate)) => roots.push(certificate),
                Ok(_) => {}
                Err(_) => faults.push("root_certificates can't be read as PEM".to_owned()),
            }
        }
        if roots.is_empty() {
            faults.push("root_certificates holds no certificate".to_owned());
        }
    }
    if !faults.is_empty() {
        return Err(ConfigError(faults));
    }
    Ok(if roots.is_empty() { RootCerts::WebPki } else { RootCerts::new_with_certs(&roots) })
}

/// The kind alone: ureq's own texts may quote what was sent.
fn kind(error: &ureq::Error) -> TransportError {
    use ureq::Error as E;
    match error {
        E::Timeout(_) => TransportError::Timeout,
        E::HostNotFound | E::ConnectionFailed | E::ConnectProxyFailed(_) => TransportError::Connect,
        E::Tls(_) | E::Rustls(_) | E::TlsRequired => TransportError::Tls,
        E::BodyExceedsLimit(_) => TransportError::TooLarge,
        E::Io(error) => io_kind(error),
        _ => TransportError::Broken,
    }
}

/// A failed handshake comes wrapped, more than once: the causes are looked through.
fn io_kind(error: &std::io::Error) -> TransportError {
    use std::io::ErrorKind as K;
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if error.is::<rustls::Error>() {
            return TransportError::Tls;
        }
        // An io error that wraps another is its own kind of box, not a source.
        cause = match error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref) {
            Some(inner) => Some(inner),
            None => error.source(),
        };
    }
    match error.kind() {
        // The standard library has no kind of its own for a name that doesn't resolve.
        _ if error.to_string().starts_with("failed to lookup address") => TransportError::Connect,
        K::TimedOut | K::WouldBlock => TransportError::Timeout,
        K::ConnectionRefused
        | K::HostUnreachable
        | K::NetworkUnreachable
        | K::NetworkDown
        | K::AddrNotAvailable => TransportError::Connect,
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

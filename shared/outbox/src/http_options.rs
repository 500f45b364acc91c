//! How the HTTP transport posts: compression, roots of trust, timeouts.

use std::time::Duration;

use ureq::tls::{PemItem, RootCerts, parse_pem};

use crate::error::ConfigError;

/// Time to connect, name and TLS included. Phones change networks: better to try again soon.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Time of the whole exchange; above the 29 s that gateways allow their back end.
const TOTAL_TIMEOUT: Duration = Duration::from_secs(30);

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

/// Whom to trust.
pub(crate) fn roots(options: &HttpOptions) -> Result<RootCerts, ConfigError> {
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

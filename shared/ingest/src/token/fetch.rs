//! One bounded GET for a JWKS.
//!
//! The client is the one that the AWS SDK brings along: no crate more in the function. A connection
//! is not kept: fetches are minutes apart, and one that a frozen function kept would be dead.

use std::time::Duration;

use axum::body::Bytes;
use axum::http::header::{ACCEPT, USER_AGENT};
use axum::http::uri::{Scheme, Uri};
use axum::http::{Request, StatusCode};
use eventlane_contracts::is_loopback_host;
use http_body_util::{BodyExt, Empty, LengthLimitError, Limited};
use hyper_rustls::{ConfigBuilderExt, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rustls::{ClientConfig, RootCertStore};

use super::error::FetchError;
use super::jwks::Jwks;
use super::limits::JWKS_BYTES;

/// Where keys come from.
pub(crate) struct Fetcher {
    client: Client<HttpsConnector<HttpConnector>, Empty<Bytes>>,
    uri: Uri,
    timeout: Duration,
}

impl Fetcher {
    /// A fetcher for a URL: `https`, or `http` on a loopback host. Certificates are judged by the
    /// machine's roots (`SSL_CERT_FILE` names others).
    pub(crate) fn new(url: &str, timeout: Duration) -> Result<Self, String> {
        let uri = judge(url)?;
        let provider = std::sync::Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| format!("TLS can't be set up: {error}"))?;
        let config = if uri.scheme() == Some(&Scheme::HTTPS) {
            config
                .with_native_roots()
                .map_err(|error| format!("this machine has no root certificates: {error}"))?
        } else {
            config.with_root_certificates(RootCertStore::empty())
        };
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(config.with_no_client_auth())
            .https_or_http()
            .enable_http1()
            .build();
        let client = Client::builder(TokioExecutor::new()).pool_max_idle_per_host(0).build(connector);
        Ok(Self { client, uri, timeout })
    }

    /// The set, as its source has it now.
    ///
    /// # Cancel safety
    /// Cancel safe: the connection is closed.
    pub(crate) async fn fetch(&self) -> Result<Jwks, FetchError> {
        tokio::time::timeout(self.timeout, self.get()).await.map_err(|_| FetchError::Timeout(self.timeout))?
    }

    async fn get(&self) -> Result<Jwks, FetchError> {
        let mut request = Request::new(Empty::new());
        *request.uri_mut() = self.uri.clone();
        let headers = request.headers_mut();
        headers.insert(
            ACCEPT,
            axum::http::HeaderValue::from_static("application/jwk-set+json, application/json"),
        );
        headers.insert(
            USER_AGENT,
            axum::http::HeaderValue::from_static(concat!("eventlane-ingest/", env!("CARGO_PKG_VERSION"))),
        );
        let response = self.client.request(request).await.map_err(FetchError::Connect)?;
        if response.status() != StatusCode::OK {
            return Err(FetchError::Status(response.status().as_u16()));
        }
        let body = Limited::new(response.into_body(), JWKS_BYTES).collect().await;
        let body = body.map_err(|error| match error.downcast::<LengthLimitError>() {
            Ok(_) => FetchError::TooLarge,
            Err(error) => FetchError::Interrupted(error),
        })?;
        Jwks::read(&body.to_bytes()).ok_or(FetchError::NotASet)
    }
}

/// The URL, when it may be fetched from: keys over an open road would be anybody's.
fn judge(url: &str) -> Result<Uri, String> {
    let uri: Uri = url.parse().map_err(|_| "is no URL".to_owned())?;
    let host = uri.host().unwrap_or_default();
    if host.is_empty() || uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        return Err("needs a host, and no user name or password".to_owned());
    }
    match uri.scheme_str() {
        Some("https") => Ok(uri),
        Some("http") if is_loopback_host(host) => Ok(uri),
        _ => Err("must be https (http only on a loopback host)".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_over_https_or_from_this_machine() {
        for url in [
            "https://id.example.com/.well-known/jwks.json",
            "https://id.example.com:8443/keys?p=policy",
            "http://127.0.0.1:8080/jwks",
            "http://localhost/jwks",
            "http://[::1]:1/jwks",
        ] {
            assert!(judge(url).is_ok(), "{url}");
        }
        for url in [
            "http://id.example.com/jwks",
            "http://127.0.0.1.example.com/jwks",
            "http://10.0.0.1/jwks",
            "ftp://id.example.com/jwks",
            "file:///etc/hostname",
            "https://user:secret@id.example.com/jwks",
            "/jwks",
            "id.example.com/jwks",
            "",
            "https://",
        ] {
            assert!(judge(url).is_err(), "{url}");
        }
    }
}

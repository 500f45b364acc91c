//! The HTTP transport: ureq over rustls with aws-lc.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ureq::tls::{TlsConfig, TlsProvider};
use ureq::{Agent, http};

use crate::error::{ConfigError, TransportError};
use crate::gzip::compressed;
use crate::http_fault::kind;
use crate::http_options::{HttpOptions, roots};
use crate::redirect::{MAX_HOPS, within_origin};
use crate::transport::{PostRequest, PostResponse, Transport};
use crate::url::judge;

/// Bytes of an answer that are read: 1,000 verdicts with the longest reasons, every byte of them
/// escaped, take 1.7 MB.
const ANSWER_BYTES: u64 = 2_097_152;

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

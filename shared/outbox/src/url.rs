//! The one URL a transport posts to.

use eventlane_contracts::is_loopback_host;
use eventlane_contracts::wire::EVENTS_PATH;
use ureq::http::Uri;

use crate::error::ConfigError;

/// Every fault of the URL; whether it is this machine itself.
pub(crate) fn judge(url: &str) -> Result<bool, ConfigError> {
    let mut faults = Vec::new();
    // `Uri` drops a fragment in silence, so the text itself is looked at.
    if url.contains(['?', '#']) {
        faults.push("URL has a query or a fragment".to_owned());
    }
    let bare = url.split(['?', '#']).next().unwrap_or_default();
    let Ok(uri) = bare.parse::<Uri>() else {
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
    let is_loopback = is_loopback_host(host);
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

#[cfg(test)]
mod tests {
    use crate::HttpTransport;

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

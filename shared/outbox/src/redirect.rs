//! Redirects: 307 and 308 within the origin are followed with the same body, nothing else ever.

use ureq::http::Uri;

/// Redirects of one request that are followed.
pub(crate) const MAX_HOPS: usize = 3;

/// Where a 307 or 308 leads, as a whole URL; `None` when it leaves the origin, or can't be read. The
/// token must never reach another host, another port, or a plain connection.
pub(crate) fn within_origin(url: &str, location: &str) -> Option<String> {
    let base: Uri = url.parse().ok()?;
    let (scheme, authority) = (base.scheme_str()?, base.authority()?.as_str());
    let location = location.trim().split('#').next().unwrap_or_default();
    let target = if location.starts_with("//") {
        format!("{scheme}:{location}")
    } else if location.starts_with('/') {
        format!("{scheme}://{authority}{location}")
    } else if location.contains("://") {
        location.to_owned()
    } else {
        // No other scheme's `name:rest` is a path.
        if location.is_empty() || location.contains(':') {
            return None;
        }
        let folder = base.path().rsplit_once('/').map_or("", |(folder, _)| folder);
        format!("{scheme}://{authority}{folder}/{location}")
    };
    let parsed: Uri = target.parse().ok()?;
    (origin(&parsed)? == origin(&base)?).then_some(target)
}

/// Scheme, host and port; `None` with a user or a password in it.
fn origin(uri: &Uri) -> Option<(String, String, u16)> {
    let authority = uri.authority()?;
    if authority.as_str().contains('@') {
        return None;
    }
    let scheme = uri.scheme_str()?.to_ascii_lowercase();
    let port = uri.port_u16().or(match scheme.as_str() {
        "https" => Some(443),
        "http" => Some(80),
        _ => None,
    })?;
    Some((scheme, authority.host().to_ascii_lowercase(), port))
}

#[cfg(test)]
mod tests {
    use super::within_origin;

    #[test]
    fn only_the_same_origin_is_followed() {
        let base = "https://events.example.com/api/events";
        for (location, target) in [
            ("/v2/events", Some("https://events.example.com/v2/events")),
            ("https://events.example.com/x?y=1#z", Some("https://events.example.com/x?y=1")),
            ("https://EVENTS.example.com:443/x", Some("https://EVENTS.example.com:443/x")),
            ("//events.example.com/x", Some("https://events.example.com/x")),
            ("events2", Some("https://events.example.com/api/events2")),
            ("http://events.example.com/x", None),
            ("https://events.example.com:8443/x", None),
            ("https://evil.example/x", None),
            ("//evil.example/x", None),
            ("https://events.example.com@evil.example/x", None),
            ("https://user@events.example.com/x", None),
            ("https://events.example.com.evil.example/x", None),
            ("javascript:alert(1)", None),
            ("", None),
            ("#x", None),
        ] {
            assert_eq!(within_origin(base, location).as_deref(), target, "{location}");
        }
    }

    #[test]
    fn a_backslash_never_moves_the_host() {
        let base = "https://events.example.com/api/events";
        for location in ["/\\evil.example", "\\\\evil.example/x", "https:\\\\evil.example"] {
            let target = within_origin(base, location);
            assert!(target.is_none_or(|url| url.starts_with("https://events.example.com/")), "{location}");
        }
    }
}

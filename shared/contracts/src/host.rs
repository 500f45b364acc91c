//! Where a URL points, as far as both sides judge it.

use std::net::IpAddr;

/// Whether a URL's host is this machine: `localhost`, `127.0.0.0/8` or `[::1]`. Only there may a token or
/// a key travel without TLS; a name that resolves to loopback is not taken for it.
#[must_use]
pub fn is_loopback_host(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

//! `Retry-After`: seconds or an HTTP date, clamped.

use std::time::{Duration, UNIX_EPOCH};

/// The longest a server can hold the lane: a day. More is a mistake, or malice.
pub(crate) const RETRY_AFTER_MAX_US: i64 = 24 * 3600 * 1_000_000;

/// Microseconds to wait, at most [`RETRY_AFTER_MAX_US`]; `None` when the value says nothing.
///
/// A date is measured against the server's own, where the answer has one.
pub(crate) fn parse(value: &str, servers: Option<&str>, now_us: i64) -> Option<i64> {
    let value = value.trim();
    if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        // Digits that don't fit are a very long time, which is clamped like any other.
        let seconds = value.parse::<i64>().unwrap_or(i64::MAX);
        return Some(seconds.saturating_mul(1_000_000).min(RETRY_AFTER_MAX_US));
    }
    let until = httpdate::parse_http_date(value).ok()?;
    let own = UNIX_EPOCH + Duration::from_micros(u64::try_from(now_us).unwrap_or(0));
    let now = servers.and_then(|date| httpdate::parse_http_date(date.trim()).ok()).unwrap_or(own);
    let wait = until.duration_since(now).unwrap_or_default();
    Some(crate::options::micros(wait).min(RETRY_AFTER_MAX_US))
}

#[cfg(test)]
mod tests {
    use super::{RETRY_AFTER_MAX_US, parse};

    #[test]
    fn seconds_and_dates_are_read_and_clamped() {
        let now = 1_700_000_000_000_000; // Tue, 14 Nov 2023 22:13:20 GMT
        for (value, wait) in [
            ("5", Some(5_000_000)),
            (" 0 ", Some(0)),
            ("Tue, 14 Nov 2023 22:13:50 GMT", Some(30_000_000)),
            ("Tue, 14 Nov 2023 22:00:00 GMT", Some(0)),
            ("Tue, 14 Nov 2034 22:00:00 GMT", Some(RETRY_AFTER_MAX_US)),
            ("9223372037", Some(RETRY_AFTER_MAX_US)),
            ("18446744073709551615", Some(RETRY_AFTER_MAX_US)),
            ("99999999999999999999", Some(RETRY_AFTER_MAX_US)),
            ("-1", None),
            ("", None),
            ("soon", None),
            ("1.5", None),
        ] {
            assert_eq!(parse(value, None, now), wait, "{value:?}");
        }
    }

    #[test]
    fn a_date_is_measured_against_the_servers_clock_where_it_tells_it() {
        let (until, date) = ("Tue, 14 Nov 2023 22:14:20 GMT", "Tue, 14 Nov 2023 22:13:20 GMT");
        for now_us in [0, 1_700_000_000_000_000, 4_000_000_000_000_000] {
            assert_eq!(parse(until, Some(date), now_us), Some(60_000_000), "{now_us}");
        }
        assert_eq!(parse(until, Some("soon"), 1_700_000_000_000_000), Some(60_000_000));
    }
}

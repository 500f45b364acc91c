//! Trace context: the request's place in its trace, W3C's header first and X-Ray's second.

use axum::http::HeaderMap;
use eventlane_queue::Traceparent;

/// The trace context; nothing for what is none, and for two that contradict each other.
pub(crate) fn context(headers: &HeaderMap) -> Option<Traceparent> {
    // Lambda's own, where tracing is on, is in the second: the host writes it over the client's.
    let read = |name: &str, parse: fn(&str) -> Option<Traceparent>| {
        let mut values = headers.get_all(name).iter();
        match (values.next(), values.next()) {
            (Some(value), None) => parse(value.to_str().ok()?),
            _ => None,
        }
    };
    read("traceparent", Traceparent::parse).or_else(|| read("x-amzn-trace-id", Traceparent::parse_xray))
}

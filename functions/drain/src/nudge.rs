//! The nudge queue as an event source: its messages are no sub-batches, they ask for a pass.
//!
//! A pass takes every stream, whichever the nudge names: the quiet ones cost a long poll beside the
//! busy ones. Nothing that goes wrong here comes again as a nudge; the schedule finds the events.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::Value;

/// The tail of the nudge queue's name, `<prefix>-drain-nudge`. No stream's name has a hyphen in it.
const QUEUE: &str = "-drain-nudge";

/// How many streams a nudge event names; `None` for any other event.
pub(crate) fn streams(event: &Value) -> Option<usize> {
    let records = event.get("Records")?.as_array()?;
    let is_nudge = |record: &Value| {
        let arn = record.get("eventSourceARN").and_then(Value::as_str).unwrap_or_default();
        arn.rsplit(':').next().is_some_and(|queue| queue.ends_with(QUEUE))
    };
    if records.is_empty() || !records.iter().all(is_nudge) {
        return None;
    }
    let named: BTreeSet<String> = records.iter().filter_map(body).flat_map(|body| body.streams).collect();
    Some(named.len())
}

#[derive(Deserialize)]
struct Body {
    streams: Vec<String>,
}

/// What can't be read wakes the drain all the same.
fn body(record: &Value) -> Option<Body> {
    serde_json::from_str(record.get("body")?.as_str()?).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn record(queue: &str, body: &str) -> Value {
        json!({"messageId": "m", "receiptHandle": "r", "body": body,
            "eventSourceARN": format!("arn:aws:sqs:eu-west-1:123456789012:{queue}")})
    }

    #[test]
    fn a_nudge_is_told_by_its_queue_and_anything_in_it_wakes_the_drain() {
        let (a, b) = (r#"{"streams":["a","b"]}"#, r#"{"streams":["b","c"]}"#);
        let nudge = |body| record("eventlane-drain-nudge", body);
        assert_eq!(streams(&json!({"Records": [nudge(a), nudge(b)]})), Some(3));
        assert_eq!(streams(&json!({"Records": [nudge("nonsense"), nudge("{}")]})), Some(0));
    }

    #[test]
    fn any_other_event_is_none() {
        let (nudge, other) = (record("x-drain-nudge", "{}"), record("eventlane-issue_viewed", "{}"));
        for event in [
            json!({}),
            json!({"Records": []}),
            json!({"Records": [{}]}),
            json!({"Records": [nudge, other.clone()]}),
            json!({"Records": [other]}),
            json!({"source": "aws.scheduler"}),
        ] {
            assert_eq!(streams(&event), None, "{event}");
        }
    }
}

//! Envelopes and batches as text, so that a test can also write what no serialiser would.

use eventlane_contracts::wire::{Answer, Status};

/// The `occurredAtUs` of an [`Event`] that is given none.
pub const OCCURRED_AT_US: &str = "1760000000000000";

/// The `n`th event id: a version 7 UUID, the same in every run.
#[must_use]
pub fn event_id(n: u64) -> String {
    format!("0199c82c-c000-7000-8000-{:012x}", n & 0xffff_ffff_ffff)
}

/// One event to be put on the wire.
#[derive(Debug, Clone)]
pub struct Event {
    stream: String,
    event_id: String,
    occurred_at_us: String,
    payload: String,
}

impl Event {
    /// The `n`th event of a test. The payload is JSON text, taken literally, sound or not.
    #[must_use]
    pub fn new(n: u64, stream: &str, payload: impl Into<String>) -> Self {
        Self {
            stream: stream.to_owned(),
            event_id: event_id(n),
            occurred_at_us: OCCURRED_AT_US.to_owned(),
            payload: payload.into(),
        }
    }

    /// The same under an id of one's own.
    #[must_use]
    pub fn event_id(self, event_id: &str) -> Self {
        Self { event_id: event_id.to_owned(), ..self }
    }

    /// The same at another time.
    #[must_use]
    pub fn occurred_at_us(self, occurred_at_us: &str) -> Self {
        Self { occurred_at_us: occurred_at_us.to_owned(), ..self }
    }

    /// The envelope's JSON text.
    #[must_use]
    pub fn envelope(&self) -> String {
        let [stream, event_id, occurred_at_us] = [&self.stream, &self.event_id, &self.occurred_at_us]
            .map(|text| serde_json::Value::from(text.as_str()));
        let payload = &self.payload;
        format!(
            r#"{{"stream":{stream},"eventId":{event_id},"occurredAtUs":{occurred_at_us},"payload":{payload}}}"#
        )
    }
}

/// The body of a request with these events, in this order.
#[must_use]
pub fn batch<'a>(events: impl IntoIterator<Item = &'a Event>) -> String {
    let envelopes: Vec<String> = events.into_iter().map(Event::envelope).collect();
    format!(r#"{{"events":[{}]}}"#, envelopes.join(","))
}

/// The verdicts of an answer's body, in its order: event id, status, reason (empty for `acked`).
///
/// # Panics
/// When the body is no answer.
#[must_use]
pub fn verdicts(body: &str) -> Vec<(String, Status, String)> {
    let answer: Answer<'_> =
        serde_json::from_str(body).unwrap_or_else(|error| panic!("no answer ({error}): {body}"));
    let verdict = |ack: eventlane_contracts::wire::Ack<'_>| {
        (ack.event_id.into_owned(), ack.status, ack.reason.unwrap_or_default().into_owned())
    };
    answer.acks.into_iter().map(verdict).collect()
}

#[cfg(test)]
mod tests {
    use eventlane_contracts::wire::Batch;

    use super::*;

    #[test]
    fn the_wire_takes_what_is_built_and_keeps_odd_payloads() {
        let events = [Event::new(1, "a", r#"{"n":1.10}"#), Event::new(2, "b", r#"{"s":"\ud800"}"#)];
        let body = batch(&events);
        let parsed = Batch::parse(body.as_bytes()).unwrap();
        assert_eq!(parsed.events[0].payload.get(), r#"{"n":1.10}"#);
        assert_eq!(parsed.events[1].payload.get(), r#"{"s":"\ud800"}"#);
        assert_eq!(parsed.events[1].event_id, event_id(2));
    }

    #[test]
    fn an_answer_reads_as_verdicts() {
        let body = r#"{"acks":[{"eventId":"x","status":"acked"},{"eventId":"y","status":"deferred","reason":"queue"}]}"#;
        let found = verdicts(body);
        assert_eq!(found[0], ("x".to_owned(), Status::Acked, String::new()));
        assert_eq!(found[1], ("y".to_owned(), Status::Deferred, "queue".to_owned()));
    }
}

//! Any bytes as a body.

use std::collections::BTreeMap;

use axum::http::header::{CONTENT_ENCODING, HeaderValue};
use eventlane_contracts::limits::{PAYLOAD_BYTES, PAYLOAD_NESTING, REASON_BYTES};
use eventlane_contracts::wire::Status;
use eventlane_testkit::envelopes::verdicts;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::door::{self, Answered, registry};

/// What gzip begins with: such bytes are sent as gzip.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// The answer is verdicts, or a fault of the batch that queued nothing; with verdicts each envelope
/// has one, in order, under its own id byte for byte, and `acked` is exactly what was queued.
pub fn body(input: &[u8]) {
    let mut headers = door::head(&door::sound_token());
    let is_gzip = input.starts_with(&GZIP);
    if is_gzip {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    let answered = door::with(|door| door.post(headers, input));
    assert!(matches!(answered.status, 200 | 400 | 413), "status {}", answered.status);
    // What was inside gzip is judged by its shape alone.
    if answered.status == 200 && !is_gzip {
        holds(input, &answered);
    }
}

/// The wire's shape, read a second time and by other means than the door's.
#[derive(Deserialize)]
struct Sent<'a> {
    #[serde(borrow)]
    events: Vec<SentEvent<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SentEvent<'a> {
    stream: String,
    event_id: String,
    occurred_at_us: String,
    #[serde(borrow)]
    payload: &'a RawValue,
}

/// What must hold for an answer of verdicts to this body.
pub(crate) fn holds(body: &[u8], answered: &Answered) {
    let text = std::str::from_utf8(body).expect("only UTF-8 has verdicts");
    let sent: Sent<'_> = serde_json::from_str(text).expect("only a batch has verdicts");
    let verdicts = verdicts(&answered.body);
    assert_eq!(verdicts.len(), sent.events.len(), "one verdict an envelope");
    let mut acked: BTreeMap<(String, String), usize> = BTreeMap::new();
    for (event, (id, status, reason)) in sent.events.iter().zip(&verdicts) {
        assert_eq!(*id, event.event_id, "in order, byte for byte");
        assert!(reason.len() <= REASON_BYTES);
        assert_eq!(*status == Status::Acked, reason.is_empty(), "every verdict but acked has a reason");
        if *status == Status::Acked {
            must_be_sound(event);
            let key = (event.stream.trim().to_owned(), event.event_id.to_ascii_lowercase());
            *acked.entry(key).or_default() += 1;
        }
    }
    let mut queued: BTreeMap<(String, String), usize> = BTreeMap::new();
    for (stream, id, payload) in &answered.queued {
        assert!(payload.len() <= 2 * PAYLOAD_BYTES, "escapes never double a payload's bytes");
        *queued.entry((stream.clone(), id.clone())).or_default() += 1;
    }
    assert_eq!(acked, queued, "acked is exactly what was queued");
}

/// No event of this kind may ever be acked unless this holds.
fn must_be_sound(event: &SentEvent<'_>) {
    let text = event.payload.get();
    let stream = registry().stream(event.stream.trim()).map(|stream| stream.name().to_string());
    assert!(stream.is_some(), "a stream nobody knows was acked");
    assert!(event.occurred_at_us.parse::<i64>().is_ok_and(|at| at >= 0), "no time on the wire");
    assert_eq!(event.event_id.len(), 36);
    serde_json::from_str::<serde_json::Value>(text).expect("a payload that no reader takes was acked");
    assert!(nesting(text) <= PAYLOAD_NESTING, "nested too deep");
    assert!(compacted_bytes(text) <= PAYLOAD_BYTES, "too large");
}

/// Levels and bytes of JSON text that is known to be sound, strings skipped.
fn nesting(text: &str) -> usize {
    let (mut depth, mut deepest) = (0usize, 0usize);
    outside_strings(text, |byte| match byte {
        b'[' | b'{' => {
            depth += 1;
            deepest = deepest.max(depth);
        }
        b']' | b'}' => depth -= 1,
        _ => {}
    });
    deepest
}

fn compacted_bytes(text: &str) -> usize {
    let mut spaces = 0;
    outside_strings(text, |byte| spaces += usize::from(byte.is_ascii_whitespace()));
    text.len() - spaces
}

fn outside_strings(text: &str, mut see: impl FnMut(u8)) {
    let (mut inside, mut escaped) = (false, false);
    for byte in text.bytes() {
        match (inside, escaped, byte) {
            (true, true, _) => escaped = false,
            (true, false, b'\\') => escaped = true,
            (true, false, b'"') => inside = false,
            (true, false, _) => {}
            (false, _, b'"') => inside = true,
            (false, _, _) => see(byte),
        }
    }
}

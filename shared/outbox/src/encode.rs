//! One batch's bytes, counted exactly, framing included.
//!
//! Two limits hold at once: the body's own, and what the body becomes as a JSON string inside the
//! event that a Lambda receives, where each quote and each backslash gains a byte.

use std::ops::Range;
use std::sync::Arc;

use eventlane_contracts::limits::{BODY_BYTES, LAMBDA_EVENT_BYTES, OCCURRED_AT_DIGITS};
use serde_json::value::RawValue;

const OPEN: &str = r#"{"events":["#;
const CLOSE: &str = "]}";

/// A row on its way: what is needed to settle it, and where its envelope lies in the body.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) seq: i64,
    pub(crate) event_id: String,
    pub(crate) stream: String,
    pub(crate) attempt_count: i64,
    span: Range<usize>,
}

/// What one POST carries.
#[derive(Debug, Clone)]
pub(crate) struct Slice {
    pub(crate) rows: Vec<Row>,
    pub(crate) body: Arc<Vec<u8>>,
}

impl Slice {
    /// Both halves, each a body of its own; the first is never empty.
    pub(crate) fn halves(self) -> (Self, Self) {
        let (first, second) = self.rows.split_at(self.rows.len().div_ceil(2));
        (self.part(first), self.part(second))
    }

    fn part(&self, rows: &[Row]) -> Self {
        let mut builder = Builder::new();
        for row in rows {
            // A span always lies within its body.
            builder.add(row.clone(), self.body.get(row.span.clone()).unwrap_or_default());
        }
        builder.finish()
    }
}

/// A row as the outbox stores it.
pub(crate) struct Stored {
    pub(crate) seq: i64,
    pub(crate) event_id: String,
    pub(crate) stream: String,
    pub(crate) occurred_at_us: i64,
    pub(crate) payload: String,
    pub(crate) attempt_count: i64,
}

impl Stored {
    /// The row's envelope, or why no server could read it: such a row (another writer's, an older
    /// version's) would spoil its whole batch.
    fn envelope(&self) -> Result<Vec<u8>, &'static str> {
        if serde_json::from_str::<&RawValue>(&self.payload).is_err() {
            return Err("stored payload is not JSON");
        }
        if uuid::Uuid::try_parse(&self.event_id).is_err() || self.event_id.len() != 36 {
            return Err("stored event_id is no UUID");
        }
        let digits = self.occurred_at_us.to_string();
        if self.occurred_at_us < 0 || digits.len() > OCCURRED_AT_DIGITS {
            return Err("stored occurred_at_us is no time on the wire");
        }
        if self.stream.trim().is_empty() {
            return Err("stored stream is empty or no text");
        }
        let stream = serde_json::to_string(&self.stream).map_err(|_| "stored stream is no text")?;
        Ok(format!(
            r#"{{"stream":{stream},"eventId":"{}","occurredAtUs":"{digits}","payload":{}}}"#,
            self.event_id, self.payload
        )
        .into_bytes())
    }
}

/// What became of a row offered to a batch.
pub(crate) enum Offer {
    Taken,
    /// It fits no more; the batch is complete.
    Full,
    /// No server could read it.
    Unsendable(&'static str),
}

/// A batch as it grows.
pub(crate) struct Builder {
    rows: Vec<Row>,
    body: Vec<u8>,
    quoted_bytes: usize,
}

impl Builder {
    pub(crate) fn new() -> Self {
        // The two quotes around the whole body count too.
        let quoted_bytes = 2 + quoted(OPEN.as_bytes()) + quoted(CLOSE.as_bytes());
        Self { rows: Vec::new(), body: OPEN.as_bytes().to_vec(), quoted_bytes }
    }

    /// Takes the row unless a limit stands against it; the first always rides.
    pub(crate) fn offer(&mut self, stored: Stored) -> Offer {
        let envelope = match stored.envelope() {
            Ok(envelope) => envelope,
            Err(why) => return Offer::Unsendable(why),
        };
        let comma = usize::from(!self.rows.is_empty());
        let body_bytes = self.body.len() + comma + envelope.len() + CLOSE.len();
        let quoted_bytes = self.quoted_bytes + comma + quoted(&envelope);
        if !self.rows.is_empty() && (body_bytes > BODY_BYTES || quoted_bytes > LAMBDA_EVENT_BYTES) {
            return Offer::Full;
        }
        let Stored { seq, event_id, stream, attempt_count, .. } = stored;
        self.add(Row { seq, event_id, stream, attempt_count, span: 0..0 }, &envelope);
        Offer::Taken
    }

    fn add(&mut self, mut row: Row, envelope: &[u8]) {
        if !self.rows.is_empty() {
            self.body.push(b',');
            self.quoted_bytes += 1;
        }
        let start = self.body.len();
        self.body.extend_from_slice(envelope);
        self.quoted_bytes += quoted(envelope);
        row.span = start..self.body.len();
        self.rows.push(row);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(crate) fn finish(mut self) -> Slice {
        self.body.extend_from_slice(CLOSE.as_bytes());
        Slice { rows: self.rows, body: Arc::new(self.body) }
    }
}

/// Bytes of a text inside a JSON string, its own quotes left out. Compact JSON holds no raw control
/// characters but, from another writer, perhaps white space.
fn quoted(text: &[u8]) -> usize {
    text.iter()
        .map(|byte| match byte {
            b'"' | b'\\' | b'\n' | b'\r' | b'\t' => 2,
            0..0x20 => 6,
            _ => 1,
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use eventlane_contracts::wire::Batch;

    fn stored(seq: i64, payload: &str) -> Stored {
        Stored {
            seq,
            event_id: format!("00000000-0000-7000-8000-{seq:012}"),
            stream: "s".to_owned(),
            occurred_at_us: seq,
            payload: payload.to_owned(),
            attempt_count: 0,
        }
    }

    fn fill(payload: &str) -> Slice {
        let mut builder = Builder::new();
        for seq in 1.. {
            match builder.offer(stored(seq, payload)) {
                Offer::Taken => {}
                Offer::Full => return builder.finish(),
                Offer::Unsendable(why) => panic!("{why}"),
            }
        }
        unreachable!()
    }

    #[test]
    fn a_full_body_is_as_large_as_the_limit_allows_and_no_larger() {
        let payload = format!("\"{}\"", "é".repeat(32_767));
        let slice = fill(&payload);
        let envelope = slice.rows[0].span.len();
        assert!(slice.body.len() <= BODY_BYTES);
        assert!(slice.body.len() + 1 + envelope > BODY_BYTES);
        assert_eq!(Batch::parse(&slice.body).unwrap().events.len(), slice.rows.len());
    }

    #[test]
    fn quotes_and_backslashes_are_counted_as_the_lambda_event_will_hold_them() {
        // Of 65,533 bytes two thirds gain one more: the body limit alone would let 6.9 MB through.
        let payload = format!("[{}\"\"]", "\"\",".repeat(21_843));
        let slice = fill(&payload);
        let quoted = serde_json::to_string(std::str::from_utf8(&slice.body).unwrap()).unwrap().len();
        assert!(quoted <= LAMBDA_EVENT_BYTES, "{quoted}");
        let envelope =
            serde_json::to_string(std::str::from_utf8(&slice.body[slice.rows[0].span.clone()]).unwrap());
        assert!(quoted + envelope.unwrap().len() - 1 > LAMBDA_EVENT_BYTES);
    }

    #[test]
    fn one_event_always_rides() {
        let mut builder = Builder::new();
        let huge = format!("\"{}\"", "x".repeat(BODY_BYTES));
        assert!(matches!(builder.offer(stored(1, &huge)), Offer::Taken));
        assert!(matches!(builder.offer(stored(2, "1")), Offer::Full));
    }

    #[test]
    fn halves_are_whole_bodies_with_the_same_rows() {
        let mut builder = Builder::new();
        for seq in 1..=5 {
            builder.offer(stored(seq, &format!("{{\"n\":{seq}}}")));
        }
        let (first, second) = builder.finish().halves();
        let seqs = |slice: &Slice| slice.rows.iter().map(|row| row.seq).collect::<Vec<_>>();
        assert_eq!((seqs(&first), seqs(&second)), (vec![1, 2, 3], vec![4, 5]));
        let (_, last) = second.halves();
        assert_eq!(Batch::parse(&last.body).unwrap().events[0].payload.get(), "{\"n\":5}");
    }

    #[test]
    fn a_row_no_server_could_read_is_told_apart() {
        let spoil: [fn(&mut Stored); 4] = [
            |row| row.payload = "{oops".to_owned(),
            |row| row.event_id = "42".to_owned(),
            |row| row.occurred_at_us = -1,
            |row| row.stream = " ".to_owned(),
        ];
        for spoil in spoil {
            let mut row = stored(1, "1");
            spoil(&mut row);
            assert!(matches!(Builder::new().offer(row), Offer::Unsendable(_)));
        }
    }
}

//! Enqueue: the split streams of one request, each event answered from what its queue confirmed.
//!
//! A queue can't enqueue across streams atomically, so the lane is honest per event. Streams go
//! side by side: one that fails, hangs or panics leaves the others alone.

use std::ops::Range;
use std::panic::AssertUnwindSafe;

use eventlane_contracts::{StreamName, body_text};
use futures::FutureExt;
use futures::future::join_all;
use tokio::time::Instant;

use crate::{Attributes, EnqueueError, Message, Producer, split};

/// One stream's events of a request, in append order.
#[derive(Debug)]
pub struct StreamEvents {
    /// The stream.
    pub stream: StreamName,
    /// Each event's text, see [`event_text`](eventlane_contracts::event_text).
    pub events: Vec<String>,
}

/// What became of one event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventOutcome {
    /// The queue confirmed the message it is in.
    Queued,
    /// It isn't queued and may be later.
    NotQueued(EnqueueError),
    /// The queue refuses this very event for its contents.
    Unsendable,
}

/// What became of a request.
#[derive(Debug)]
pub struct EnqueueReport {
    /// For each stream given, in order, one outcome an event, in order.
    pub streams: Vec<Vec<EventOutcome>>,
}

impl EnqueueReport {
    /// Whether something was tried and every message failed for a cause of the whole service.
    #[must_use]
    pub fn is_unavailable(&self) -> bool {
        let mut outcomes = self.streams.iter().flatten().peekable();
        outcomes.peek().is_some()
            && outcomes
                .all(|outcome| matches!(outcome, EventOutcome::NotQueued(EnqueueError::Unavailable(_))))
    }
}

/// Splits and enqueues every stream's events, all streams side by side.
///
/// # Cancel safety
/// Not cancel safe: a dropped call may have enqueued some messages.
pub async fn enqueue_streams(
    producer: &dyn Producer,
    batches: &[StreamEvents],
    traceparent: Option<&str>,
) -> EnqueueReport {
    enqueue_each(producer, batches, traceparent, None).await
}

/// The same, over by `deadline`: what no queue confirmed until then is
/// [unavailable](EnqueueError::Unavailable), and what was confirmed stays so.
///
/// # Cancel safety
/// Not cancel safe: a dropped call may have enqueued some messages.
pub async fn enqueue_streams_by(
    producer: &dyn Producer,
    batches: &[StreamEvents],
    traceparent: Option<&str>,
    deadline: Instant,
) -> EnqueueReport {
    enqueue_each(producer, batches, traceparent, Some(deadline)).await
}

async fn enqueue_each(
    producer: &dyn Producer,
    batches: &[StreamEvents],
    traceparent: Option<&str>,
    deadline: Option<Instant>,
) -> EnqueueReport {
    let streams = batches.iter().map(async |batch| {
        let mut outcomes = vec![EventOutcome::NotQueued(EnqueueError::out_of_time()); batch.events.len()];
        let enqueued = enqueue_stream(producer, batch, traceparent, deadline, &mut outcomes);
        // What its queue had confirmed before a panic stays confirmed.
        if AssertUnwindSafe(enqueued).catch_unwind().await.is_err() {
            let open = outcomes.iter_mut().filter(|outcome| **outcome != EventOutcome::Queued);
            open.for_each(|outcome| {
                *outcome = EventOutcome::NotQueued(EnqueueError::Unconfirmed("internal".to_owned()));
            });
        }
        outcomes
    });
    EnqueueReport { streams: join_all(streams).await }
}

async fn enqueue_stream(
    producer: &dyn Producer,
    batch: &StreamEvents,
    traceparent: Option<&str>,
    deadline: Option<Instant>,
    outcomes: &mut [EventOutcome],
) {
    let sizes: Vec<usize> = batch.events.iter().map(String::len).collect();
    let mut ranges = split(&batch.stream, &sizes);
    // A message refused for its contents is halved, level by level, until the one event stands
    // alone: at most ten levels for a full batch. Past the deadline nothing more is begun.
    while !ranges.is_empty() && deadline.is_none_or(|deadline| Instant::now() < deadline) {
        let messages: Vec<Message> = ranges
            .iter()
            .map(|range| message(&batch.stream, &batch.events[range.clone()], traceparent))
            .collect();
        let confirmed = match deadline {
            Some(deadline) => producer.enqueue_by(&batch.stream, &messages, deadline).await,
            None => producer.enqueue(&batch.stream, &messages).await,
        };
        let mut refused = Vec::new();
        for (index, range) in ranges.into_iter().enumerate() {
            match confirmed.get(index) {
                Some(Ok(())) => outcomes[range].fill(EventOutcome::Queued),
                Some(Err(EnqueueError::Contents | EnqueueError::TooLarge)) if range.len() > 1 => {
                    refused.extend(halves(range));
                }
                // A queue that is set too small is the queue's fault, not the event's: it stays.
                Some(Err(EnqueueError::Contents)) => outcomes[range].fill(EventOutcome::Unsendable),
                Some(Err(error)) => outcomes[range].fill(EventOutcome::NotQueued(error.clone())),
                // A backend owes one outcome a message; what it doesn't say isn't confirmed.
                None => outcomes[range]
                    .fill(EventOutcome::NotQueued(EnqueueError::Unconfirmed("no outcome".into()))),
            }
        }
        ranges = refused;
    }
}

fn halves(range: Range<usize>) -> [Range<usize>; 2] {
    let middle = range.start + range.len() / 2;
    [range.start..middle, middle..range.end]
}

fn message(stream: &StreamName, events: &[String], traceparent: Option<&str>) -> Message {
    Message {
        body: body_text(stream, events),
        attributes: Attributes { traceparent: traceparent.map(str::to_owned), ..Attributes::default() },
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Mutex;

    use async_trait::async_trait;
    use eventlane_contracts::{MessageBody, event_text};

    use super::*;

    type Judge = dyn Fn(&str, &Message) -> Result<(), EnqueueError> + Send + Sync;

    /// Judges each message and keeps the bodies it took.
    struct Judged {
        judge: Box<Judge>,
        taken: Mutex<Vec<String>>,
    }

    #[async_trait]
    impl Producer for Judged {
        async fn enqueue(&self, stream: &StreamName, messages: &[Message]) -> Vec<Result<(), EnqueueError>> {
            messages
                .iter()
                .map(|message| {
                    (self.judge)(stream.as_str(), message)
                        .inspect(|()| self.taken.lock().unwrap().push(message.body.clone()))
                })
                .collect()
        }
    }

    fn judged(judge: impl Fn(&str, &Message) -> Result<(), EnqueueError> + Send + Sync + 'static) -> Judged {
        Judged { judge: Box::new(judge), taken: Mutex::default() }
    }

    fn batch(stream: &str, payloads: impl IntoIterator<Item = String>) -> StreamEvents {
        let events = payloads
            .into_iter()
            .enumerate()
            .map(|(index, payload)| event_text(&index.to_string(), "1", &BTreeMap::new(), &payload))
            .collect();
        StreamEvents { stream: StreamName::new(stream).unwrap(), events }
    }

    #[tokio::test]
    async fn one_streams_fault_leaves_the_others_alone() {
        let producer = judged(|stream, _| match stream {
            "a" => Ok(()),
            "b" => Err(EnqueueError::Unavailable("throttled".into())),
            _ => Err(EnqueueError::Queue("missing".into())),
        });
        let batches: Vec<_> = ["c", "b", "a"].map(|name| batch(name, ["1".into(), "2".into()])).into();
        let report = enqueue_streams(&producer, &batches, None).await;
        assert_eq!(report.streams[2], [EventOutcome::Queued, EventOutcome::Queued]);
        assert_eq!(report.streams[0][1], EventOutcome::NotQueued(EnqueueError::Queue("missing".into())));
        assert!(matches!(report.streams[1][0], EventOutcome::NotQueued(EnqueueError::Unavailable(_))));
        assert!(!report.is_unavailable());
    }

    #[tokio::test]
    async fn unavailable_takes_every_message_and_a_cause_of_the_service() {
        let batches = [batch("a", ["1".into()]), batch("b", ["1".into()])];
        let down = judged(|_, _| Err(EnqueueError::Unavailable("connect".into())));
        assert!(enqueue_streams(&down, &batches, None).await.is_unavailable());
        let missing = judged(|_, _| Err(EnqueueError::Queue("missing".into())));
        assert!(!enqueue_streams(&missing, &batches, None).await.is_unavailable());
        assert!(!enqueue_streams(&down, &[], None).await.is_unavailable(), "nothing was tried");
    }

    #[tokio::test]
    async fn refused_contents_are_bisected_down_to_the_event() {
        let bad = [3usize, 4, 700];
        let payload =
            move |index: usize| if bad.contains(&index) { "\"bad\"".into() } else { index.to_string() };
        let producer =
            judged(
                |_, message| {
                    if message.body.contains("bad") { Err(EnqueueError::Contents) } else { Ok(()) }
                },
            );
        let report = enqueue_streams(&producer, &[batch("a", (0..1000).map(payload))], None).await;
        for (index, outcome) in report.streams[0].iter().enumerate() {
            let expected = if bad.contains(&index) { EventOutcome::Unsendable } else { EventOutcome::Queued };
            assert_eq!(outcome, &expected, "{index}");
        }
        let taken = producer.taken.lock().unwrap();
        let mut ids: Vec<usize> = taken
            .iter()
            .flat_map(|body| serde_json::from_str::<MessageBody>(body).unwrap().events)
            .map(|event| event.event_id.parse().unwrap())
            .collect();
        ids.sort_unstable();
        assert_eq!(ids, (0..1000).filter(|index| !bad.contains(index)).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn a_queue_that_is_set_too_small_never_rejects_an_event() {
        let producer =
            judged(|_, message| if message.body.len() > 200 { Err(EnqueueError::TooLarge) } else { Ok(()) });
        let payload = |n: usize| if n == 5 { format!("\"{}\"", "x".repeat(300)) } else { n.to_string() };
        let report = enqueue_streams(&producer, &[batch("a", (0..20).map(payload))], None).await;
        for (index, outcome) in report.streams[0].iter().enumerate() {
            let expected = match index {
                5 => EventOutcome::NotQueued(EnqueueError::TooLarge),
                _ => EventOutcome::Queued,
            };
            assert_eq!(outcome, &expected, "{index}");
        }
    }

    #[tokio::test]
    async fn an_outcome_that_is_missing_confirms_nothing() {
        struct Silent;
        #[async_trait]
        impl Producer for Silent {
            async fn enqueue(&self, _: &StreamName, _: &[Message]) -> Vec<Result<(), EnqueueError>> {
                Vec::new()
            }
        }
        let report = enqueue_streams(&Silent, &[batch("a", ["1".into()])], None).await;
        assert!(matches!(report.streams[0][0], EventOutcome::NotQueued(EnqueueError::Unconfirmed(_))));
    }

    /// Answers for the first call at once and for no other.
    struct Once(Mutex<bool>);

    #[async_trait]
    impl Producer for Once {
        async fn enqueue(&self, stream: &StreamName, messages: &[Message]) -> Vec<Result<(), EnqueueError>> {
            assert_ne!(stream.as_str(), "panics", "as told");
            if std::mem::replace(&mut *self.0.lock().unwrap(), true) {
                std::future::pending::<()>().await;
            }
            messages
                .iter()
                .map(
                    |message| {
                        if message.body.contains("bad") { Err(EnqueueError::Contents) } else { Ok(()) }
                    },
                )
                .collect()
        }
    }

    // I36, I39
    #[tokio::test(start_paused = true)]
    async fn past_the_deadline_what_is_confirmed_stays_and_the_rest_is_unavailable() {
        // A message that fills the first, and in the second one event that has to be singled out.
        let large = format!("\"{}\"", "x".repeat(700_000));
        let batches = [batch("a", [large, format!("\"bad{}\"", "x".repeat(500_000)), "1".into()])];
        let producer = Once(Mutex::default());
        let deadline = Instant::now() + std::time::Duration::from_secs(5);
        let report = enqueue_streams_by(&producer, &batches, None, deadline).await;
        let late = || EventOutcome::NotQueued(EnqueueError::out_of_time());
        assert_eq!(report.streams[0], [EventOutcome::Queued, late(), late()]);
        assert_eq!(Instant::now(), deadline);
        assert!(!report.is_unavailable(), "something is queued");
        assert!(enqueue_streams_by(&producer, &batches, None, deadline).await.is_unavailable());
    }

    #[tokio::test]
    async fn a_panic_of_the_backend_is_its_streams_alone() {
        let batches = [batch("panics", ["1".into()]), batch("a", ["1".into()])];
        let report = enqueue_streams(&Once(Mutex::default()), &batches, None).await;
        assert_eq!(
            report.streams[0],
            [EventOutcome::NotQueued(EnqueueError::Unconfirmed("internal".into()))]
        );
        assert_eq!(report.streams[1], [EventOutcome::Queued]);
    }
}

//! Enqueue: stamped events by stream, in append order, each judged by what its queue confirmed.

use std::collections::BTreeMap;

use eventlane_contracts::StreamName;
use eventlane_queue::{EventOutcome, Producer, StreamEvents, enqueue_streams_by};
use tokio::time::Instant;

use crate::Fault;
use crate::event::{Event, State, Verdict, tag};
use crate::watch::Seen;

/// Enqueues every stamped event and gives it its verdict, in the time there is; returns the streams that have
/// something now. Nothing goes on after it.
///
/// # Errors
/// [`Fault::Unavailable`] when something was tried and every queue failed for a cause of the whole
/// service; then nothing is queued.
pub(crate) async fn enqueue_all(
    events: &mut [Event<'_>],
    producer: &dyn Producer,
    seen: &Seen,
) -> Result<Vec<StreamName>, Fault> {
    let mut by_stream: BTreeMap<&str, (StreamEvents, Vec<usize>)> = BTreeMap::new();
    for (index, event) in events.iter().enumerate() {
        if let State::Stamped(stamped) = &event.state {
            let name = stamped.stream.name();
            let (batch, indexes) = by_stream
                .entry(name.as_str())
                .or_insert_with(|| (StreamEvents { stream: name.clone(), events: Vec::new() }, Vec::new()));
            batch.events.push(stamped.text(&event.envelope));
            indexes.push(index);
        }
    }
    let (batches, indexes): (Vec<_>, Vec<_>) = by_stream.into_values().unzip();
    if batches.is_empty() {
        return Ok(Vec::new());
    }
    let traceparent = seen.trace.as_ref().map(ToString::to_string);
    let begun = Instant::now();
    let report = enqueue_streams_by(producer, &batches, traceparent.as_deref(), seen.answer_by).await;
    let _ = seen.enqueue_took.set(begun.elapsed());
    for (batch, outcomes) in batches.iter().zip(&report.streams) {
        warn_of_trouble(&batch.stream, outcomes);
    }
    if report.is_unavailable() {
        return Err(Fault::Unavailable);
    }
    let has_something = |outcomes: &Vec<EventOutcome>| outcomes.contains(&EventOutcome::Queued);
    let filled = batches.into_iter().zip(&report.streams).filter(|(_, outcomes)| has_something(outcomes));
    let filled = filled.map(|(batch, _)| batch.stream).collect();
    for (index, outcome) in indexes.into_iter().flatten().zip(report.streams.iter().flatten()) {
        events[index].judge(verdict(outcome));
    }
    Ok(filled)
}

/// One line a stream and request: a queue that nobody can use would show nowhere else.
fn warn_of_trouble(stream: &StreamName, outcomes: &[EventOutcome]) {
    let trouble = |outcome: &EventOutcome| match outcome {
        EventOutcome::Queued => None,
        EventOutcome::NotQueued(error) => Some(error.tag()),
        EventOutcome::Unsendable => Some(tag::UNSENDABLE),
    };
    let events = outcomes.iter().filter(|outcome| trouble(outcome).is_some()).count();
    if let Some(tag) = outcomes.iter().find_map(trouble) {
        tracing::warn!(%stream, tag, events, "events were not enqueued");
    }
}

fn verdict(outcome: &EventOutcome) -> Verdict {
    match outcome {
        EventOutcome::Queued => Verdict::acked(),
        EventOutcome::NotQueued(error) => Verdict::deferred(error.tag(), &error.to_string()),
        EventOutcome::Unsendable => {
            Verdict::rejected(tag::UNSENDABLE, "the queue refuses this event's contents")
        }
    }
}

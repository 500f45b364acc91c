//! Enqueue: stamped events by stream, in append order, each judged by what its queue confirmed.

use std::collections::BTreeMap;

use eventlane_contracts::StreamName;
use eventlane_queue::{EventOutcome, Producer, StreamEvents, enqueue_streams};

use crate::Fault;
use crate::event::{Event, State, Verdict};

/// Enqueues every stamped event and gives it its verdict.
///
/// # Errors
/// [`Fault::Unavailable`] when something was tried and every queue failed for a cause of the whole
/// service; then nothing is queued.
pub(crate) async fn enqueue_all(
    events: &mut [Event<'_>],
    producer: &dyn Producer,
    traceparent: Option<&str>,
) -> Result<(), Fault> {
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
        return Ok(());
    }
    let report = enqueue_streams(producer, &batches, traceparent).await;
    for (batch, outcomes) in batches.iter().zip(&report.streams) {
        warn_of_trouble(&batch.stream, outcomes);
    }
    if report.is_unavailable() {
        return Err(Fault::Unavailable);
    }
    for (index, outcome) in indexes.into_iter().flatten().zip(report.streams.into_iter().flatten()) {
        events[index].state = State::Judged(verdict(&outcome));
    }
    Ok(())
}

/// One line a stream and request: a queue that nobody can use would show nowhere else.
fn warn_of_trouble(stream: &StreamName, outcomes: &[EventOutcome]) {
    let trouble = |outcome: &EventOutcome| match outcome {
        EventOutcome::Queued => None,
        EventOutcome::NotQueued(error) => Some(error.tag()),
        EventOutcome::Unsendable => Some("unsendable"),
    };
    let events = outcomes.iter().filter(|outcome| trouble(outcome).is_some()).count();
    if let Some(tag) = outcomes.iter().find_map(trouble) {
        tracing::warn!(%stream, tag, events, "events were not enqueued");
    }
}

fn verdict(outcome: &EventOutcome) -> Verdict {
    match outcome {
        EventOutcome::Queued => Verdict::acked(),
        EventOutcome::NotQueued(error) => Verdict::deferred(&error.to_string()),
        EventOutcome::Unsendable => Verdict::rejected("the queue refuses this event's contents"),
    }
}

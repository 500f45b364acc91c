//! Fills the queues: every event once, in sub-batches, round the streams.

use std::collections::BTreeMap;

use anyhow::bail;
use eventlane_contracts::{Stream, body_text, event_text};
use eventlane_queue::{Message, Producer};

use super::{Plan, STREAMS};

/// Events of one sub-batch.
const SUB_BATCH: u64 = 50;

/// Messages of one call.
const CALL: usize = 100;

pub(super) async fn run(plan: &Plan) -> anyhow::Result<()> {
    std::fs::create_dir_all(&plan.data)?;
    let registry = Plan::registry()?;
    let queue = plan.queue(&registry)?;
    let streams: Vec<_> = registry.streams().map(Stream::name).collect();
    let mut messages: Vec<Vec<Message>> = vec![Vec::new(); STREAMS];
    let starts = (0..plan.events).step_by(usize::try_from(SUB_BATCH)?);
    for (at, start) in starts.enumerate() {
        let numbers = start..(start + SUB_BATCH).min(plan.events);
        let event =
            |number: u64| event_text(&plan.event_id(number), "1", &BTreeMap::new(), &number.to_string());
        let events: Vec<String> = numbers.map(event).collect();
        let body = body_text(streams[at % STREAMS], &events);
        messages[at % STREAMS].push(Message::new(body));
    }
    for (stream, messages) in streams.iter().zip(&messages) {
        for call in messages.chunks(CALL) {
            if queue.enqueue(stream, call).await.iter().any(Result::is_err) {
                bail!("the queues can't be filled");
            }
        }
    }
    Ok(())
}

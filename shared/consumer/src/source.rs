//! The event source: deliveries that a service read for us, as Lambda does with SQS.
//!
//! The same core as in every host: it acks what is done, dead-letters, gives back. The caller tells
//! the service which messages are not finished, so that it deletes none of them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use eventlane_contracts::StreamName;
use eventlane_queue::Delivery;
use futures::future::join_all;

use crate::halt::Halt;
use crate::{DrainError, DrainReport, EventConsumer};

/// What became of deliveries that were handed in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourceReport {
    /// Counts, as a pass has them; `empty` is always `false`.
    pub report: DrainReport,
    /// The ids of the messages that must come again: failed ones are hidden for their delay already,
    /// those not started are visible. Never holds an empty id.
    pub unfinished: Vec<String>,
    /// Messages that must come again and have no id to be named by: the whole call has to fail.
    pub nameless: usize,
}

impl EventConsumer {
    /// Works off deliveries that were read elsewhere, within the budget: it is checked between
    /// sub-batches and overrun by one callback at most. What isn't started goes back at once.
    ///
    /// # Errors
    /// [`DrainError`], as for [`drain_once`](Self::drain_once); then nothing was started.
    ///
    /// # Cancel safety
    /// A dropped call leaves its messages to lapse; nothing is lost.
    pub async fn deliver_read(
        &self,
        deliveries: Vec<Delivery>,
        budget: Duration,
    ) -> Result<SourceReport, DrainError> {
        let _pass = self.begin_pass()?;
        let halt = &Halt::after(budget, self.stopped());
        let mut all = Vec::new();
        let mut streams: BTreeMap<StreamName, Vec<Delivery>> = BTreeMap::new();
        for delivery in deliveries {
            all.push(delivery.id.clone());
            streams.entry(delivery.stream.clone()).or_default().push(delivery);
        }
        let core = &*self.core;
        let works = streams.into_iter().filter_map(|(stream, deliveries)| {
            // A stream that isn't ours is left to lapse: another build may know it.
            let (_, handler) = core.streams.iter().find(|(name, _)| *name == stream)?;
            Some(async move { core.work(&stream, &**handler, deliveries, halt).await })
        });
        let mut told = SourceReport::default();
        let mut finished = BTreeSet::new();
        for worked in join_all(works).await.into_iter().flatten() {
            told.report.count(worked.outcome);
            if worked.outcome.settled {
                finished.insert(worked.message_id);
            }
        }
        for id in all {
            if id.is_empty() {
                // Nothing tells one of these from another, so none of them counts as finished.
                told.nameless += 1;
            } else if !finished.contains(&id) {
                told.unfinished.push(id);
            }
        }
        Ok(told)
    }
}

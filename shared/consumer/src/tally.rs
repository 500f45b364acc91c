//! Tallies: what happened to a stream's messages, for whoever makes metrics of it.
//!
//! Every host counts here. The program takes the counts when it suits it, a function at the end of an
//! invocation, a resident host once a minute, and each is told once.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use eventlane_contracts::StreamName;

use crate::EventConsumer;

/// Counts of one stream since they were last taken. Messages are sub-batches, or parts of one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Sub-batches that the handler took whole.
    pub delivered: u64,
    /// Events that the handler took.
    pub events_delivered: u64,
    /// Attempts that ended with an error or a panic, or with a stream or version that is unknown here.
    pub failed: u64,
    /// Messages that go back for another attempt, parts of a sub-batch too.
    pub retried: u64,
    /// Messages dead-lettered, parts of a sub-batch too.
    pub dead_lettered: u64,
    /// Events in them; none for an unreadable one.
    pub events_dead_lettered: u64,
    /// Those of them that were unreadable.
    pub unreadable: u64,
    /// Messages that went back because someone else is at their events.
    pub busy: u64,
    /// Messages that were read and given back before they were started.
    pub released: u64,
    /// Leases that were over before the work was, and receipts that had expired when it was settled.
    pub lapsed: u64,
    /// Settles that the queue did not take for another reason: the message comes again.
    pub unsettled: u64,
    /// Reads of the queue that failed.
    pub read_faults: u64,
    /// The longest callback, to be compared with the visibility.
    pub slowest_callback: Duration,
}

#[derive(Debug, Default)]
pub(crate) struct Tallies(Mutex<BTreeMap<StreamName, Tally>>);

impl Tallies {
    pub(crate) fn count(&self, stream: &StreamName, count: impl FnOnce(&mut Tally)) {
        let mut tallies = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match tallies.get_mut(stream) {
            Some(tally) => count(tally),
            None => count(tallies.entry(stream.clone()).or_default()),
        }
    }
}

impl EventConsumer {
    /// What happened since the last call, for each stream that something happened to. Whichever host
    /// runs, and after a stop too.
    #[must_use]
    pub fn take_tallies(&self) -> BTreeMap<StreamName, Tally> {
        std::mem::take(&mut *self.core.tallies.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

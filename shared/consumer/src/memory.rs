//! What this process knows of messages: which are at work, and which are done although their ack
//! failed.
//!
//! A handler's work is not undone by a receipt that expired. Such a message comes again and is then
//! acked without a callback. Another process doesn't know, so handlers stay idempotent.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use eventlane_contracts::StreamName;

/// Messages remembered as done; the oldest are forgotten first. A failed ack is rare, and its
/// message comes again within a lease.
const REMEMBERED: usize = 10_000;

type Name = (StreamName, String);

#[derive(Debug, Default)]
pub(crate) struct Memory(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    running: BTreeSet<Name>,
    done: BTreeSet<Name>,
    order: VecDeque<Name>,
}

/// What is known of a message that has come.
pub(crate) enum Arrival<'a> {
    /// Nothing: work on it.
    New(Work<'a>),
    /// Its lease was lost, and its callback still runs here.
    Running,
    /// It was finished here.
    Done,
}

/// A message at work; forgotten when dropped.
pub(crate) struct Work<'a> {
    memory: &'a Memory,
    name: Name,
}

impl Memory {
    pub(crate) fn arrive(&self, stream: &StreamName, message_id: &str) -> Arrival<'_> {
        let name = (stream.clone(), message_id.to_owned());
        let mut known = self.known();
        if known.done.contains(&name) {
            return Arrival::Done;
        }
        if !known.running.insert(name.clone()) {
            return Arrival::Running;
        }
        Arrival::New(Work { memory: self, name })
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Work<'_> {
    /// The work is done and its message is not gone.
    pub(crate) fn remember(&self) {
        let mut known = self.memory.known();
        if known.done.insert(self.name.clone()) {
            known.order.push_back(self.name.clone());
        }
        if known.order.len() > REMEMBERED
            && let Some(oldest) = known.order.pop_front()
        {
            known.done.remove(&oldest);
        }
    }
}

impl Drop for Work<'_> {
    fn drop(&mut self) {
        self.memory.known().running.remove(&self.name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_new_then_running_then_done_and_the_memory_is_bounded() {
        let (memory, stream) = (Memory::default(), StreamName::new("s").unwrap());
        let work = |id: &str| match memory.arrive(&stream, id) {
            Arrival::New(work) => work,
            _ => panic!("{id} is not new"),
        };
        let first = work("0");
        assert!(matches!(memory.arrive(&stream, "0"), Arrival::Running));
        first.remember();
        drop(first);
        assert!(matches!(memory.arrive(&stream, "0"), Arrival::Done));
        for id in 1..=REMEMBERED {
            work(&id.to_string()).remember();
        }
        drop(work("0"));
        assert_eq!(memory.known().done.len(), REMEMBERED);
        drop(work("unfinished"));
        drop(work("unfinished"));
    }
}

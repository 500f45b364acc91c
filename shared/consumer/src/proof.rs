//! A proof for your handler: is its end state the same, however its events are delivered?
//!
//! Delivery is at least once. So a handler meets redelivery, other orders of sub-batches, other cuts
//! of them (a part that is retried alone), and kills in the middle of its work. [`prove`] runs it
//! under all of these, each trial from a fresh start and with a seed of its own, and compares the end
//! state with that of one plain run.
//!
//! ```
//! use std::collections::BTreeSet;
//! use std::sync::{Arc, Mutex};
//! use async_trait::async_trait;
//! use eventlane_consumer::proof::{Proof, Subject, events_of, prove};
//! use eventlane_consumer::{Handler, HandlerError, SubBatch};
//!
//! #[derive(Default)]
//! struct Ids(Mutex<BTreeSet<String>>);
//!
//! #[async_trait]
//! impl Handler for Ids {
//!     async fn handle(&self, batch: &SubBatch) -> Result<(), HandlerError> {
//!         let mut ids = self.0.lock().unwrap();
//!         ids.extend(batch.events.iter().map(|event| event.event_id.clone()));
//!         Ok(())
//!     }
//! }
//!
//! #[async_trait]
//! impl Subject for Ids {
//!     type State = BTreeSet<String>;
//!
//!     async fn state(&self) -> Self::State {
//!         self.0.lock().unwrap().clone()
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let proof = Proof::new(eventlane_contracts::StreamName::new("item_opened")?, events_of(["1", "2", "3"]));
//! let proved = prove(&proof, async || Ids::default()).await?;
//! assert_eq!(proved.trials, 100);
//! # Ok(())
//! # }
//! ```

use std::collections::BTreeMap;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use async_trait::async_trait;
use eventlane_contracts::{QueuedEvent, StreamName};
use fastrand::Rng;
use serde_json::value::RawValue;

use crate::deliver::call;
use crate::{Handler, SubBatch};

/// Deliveries of one sub-batch in a trial at most, before it must have succeeded.
const ATTEMPTS: u32 = 100;

/// What is proved about: a handler with a state that can be read.
#[async_trait]
pub trait Subject: Handler {
    /// What has to be the same in the end. Leave out what may differ, such as times.
    type State: PartialEq + Send;

    /// Reads the end state.
    async fn state(&self) -> Self::State;
}

/// The events, and how hard they are shaken.
#[derive(Debug, Clone)]
pub struct Proof {
    /// The stream that the events are of.
    pub stream: StreamName,
    /// The events, in append order.
    pub events: Vec<QueuedEvent>,
    /// Events of one sub-batch at most; 5 unless set.
    pub sub_batch: usize,
    /// Trials; 100 unless set.
    pub trials: u64,
    /// The first trial's seed; each next one's is one higher.
    pub seed: u64,
}

impl Proof {
    /// A proof with these events.
    #[must_use]
    pub fn new(stream: StreamName, events: Vec<QueuedEvent>) -> Self {
        Self { stream, events, sub_batch: 5, trials: 100, seed: 0 }
    }
}

/// Events with these payloads (JSON texts; what is none stands as a JSON string), ids counted up and
/// no identity.
pub fn events_of<'a>(payloads: impl IntoIterator<Item = &'a str>) -> Vec<QueuedEvent> {
    let event = |(at, payload): (usize, &str)| {
        let text = RawValue::from_string(payload.to_owned());
        let quoted = || RawValue::from_string(serde_json::Value::from(payload).to_string());
        QueuedEvent {
            event_id: format!("00000000-0000-7000-8000-{at:012}"),
            occurred_at_us: at.to_string(),
            identity: BTreeMap::new(),
            // A quoted text is always JSON.
            payload: text.or_else(|_| quoted()).unwrap_or_default(),
        }
    };
    payloads.into_iter().enumerate().map(event).collect()
}

/// What was shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Proved {
    /// Trials that ended in the plain run's state.
    pub trials: u64,
    /// Deliveries in them.
    pub deliveries: u64,
    /// Deliveries that were cut off in the middle.
    pub kills: u64,
}

/// Why a handler isn't proved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Disproved {
    /// A trial ended in another state than the plain run: the handler is not idempotent, or leans
    /// on an order.
    #[error("the end state differs under {what} (seed {seed})")]
    Differs {
        /// What the trial did to the deliveries.
        what: &'static str,
        /// The trial's seed, to run it alone.
        seed: u64,
    },
    /// A sub-batch never succeeded, plain or shaken.
    #[error("a sub-batch failed {ATTEMPTS} times under {what} (seed {seed}): {reason}")]
    Fails {
        /// What the trial did to the deliveries.
        what: &'static str,
        /// The trial's seed.
        seed: u64,
        /// The handler's last reason.
        reason: String,
    },
}

/// What a trial does to the deliveries: one kind alone tells why, all together find the rest.
#[derive(Debug, Clone, Copy)]
struct Shake {
    what: &'static str,
    redeliver: bool,
    reorder: bool,
    split: bool,
    kill: bool,
}

const PLAIN: Shake =
    Shake { what: "a plain run", redeliver: false, reorder: false, split: false, kill: false };

const SHAKES: [Shake; 5] = [
    Shake { what: "redelivery", redeliver: true, ..PLAIN },
    Shake { what: "reordering", reorder: true, ..PLAIN },
    Shake { what: "splitting", split: true, ..PLAIN },
    Shake { what: "kills", kill: true, ..PLAIN },
    Shake {
        what: "redelivery, reordering, splitting and kills",
        redeliver: true,
        reorder: true,
        split: true,
        kill: true,
    },
];

/// Runs the handler under redelivery, reordering, splitting and kills. `fresh` makes the handler with
/// its state empty, once a trial.
///
/// # Errors
/// [`Disproved`] by the first trial that ends differently, or whose sub-batch never succeeds.
pub async fn prove<S: Subject>(proof: &Proof, fresh: impl AsyncFn() -> S) -> Result<Proved, Disproved> {
    let mut proved = Proved::default();
    let plain = fresh().await;
    deliver_all(proof, &plain, PLAIN, proof.seed, &mut Proved::default()).await?;
    let expected = plain.state().await;
    for (trial, shake) in (0..proof.trials).zip(SHAKES.iter().cycle()) {
        let seed = proof.seed.wrapping_add(trial);
        let subject = fresh().await;
        deliver_all(proof, &subject, *shake, seed, &mut proved).await?;
        if subject.state().await != expected {
            return Err(Disproved::Differs { what: shake.what, seed });
        }
        proved.trials += 1;
    }
    Ok(proved)
}

async fn deliver_all<S: Subject>(
    proof: &Proof,
    subject: &S,
    shake: Shake,
    seed: u64,
    proved: &mut Proved,
) -> Result<(), Disproved> {
    let mut random = Rng::with_seed(seed);
    let most = proof.sub_batch.max(1);
    let mut batches = cut(&proof.events, || if shake.split { random.usize(1..=most) } else { most });
    if shake.redeliver {
        let again: Vec<_> = batches.iter().filter(|_| random.bool()).cloned().collect();
        batches.extend(again);
        if shake.split {
            // The same events once more, in other company.
            batches.extend(cut(&proof.events, || random.usize(1..=most)));
        }
    }
    if shake.reorder {
        random.shuffle(&mut batches);
    }
    for (message, events) in batches.into_iter().enumerate() {
        let mut batch = SubBatch {
            stream: proof.stream.clone(),
            events,
            attempt: 0,
            message_id: format!("message-{message}"),
            visibility: Duration::from_secs(60),
        };
        deliver(subject, &mut batch, shake, seed, &mut random, proved).await?;
    }
    Ok(())
}

fn cut(events: &[QueuedEvent], mut size: impl FnMut() -> usize) -> Vec<Vec<QueuedEvent>> {
    let (mut rest, mut batches) = (events, Vec::new());
    while !rest.is_empty() {
        let (batch, left) = rest.split_at(size().min(rest.len()));
        batches.push(batch.to_vec());
        rest = left;
    }
    batches
}

/// Delivers one sub-batch until it succeeds; a killed delivery comes again, a part that is named
/// alone.
async fn deliver<S: Subject>(
    subject: &S,
    batch: &mut SubBatch,
    shake: Shake,
    seed: u64,
    random: &mut Rng,
    proved: &mut Proved,
) -> Result<(), Disproved> {
    let mut reason = "it was killed each time".to_owned();
    while batch.attempt < ATTEMPTS {
        batch.attempt += 1;
        proved.deliveries += 1;
        if shake.kill && batch.attempt < ATTEMPTS / 2 && random.bool() {
            proved.kills += 1;
            // Early ones more often: most handlers wait only a few times.
            let most = random.usize(0..20);
            kill_after(random.usize(0..=most), call(subject, batch)).await;
            continue;
        }
        let Err(error) = call(subject, batch).await else { return Ok(()) };
        reason = error.reason().to_owned();
        if let Some(named) = crate::isolate::named(&batch.events, &error) {
            batch.events = named.into_iter().map(|at| batch.events[at].clone()).collect();
        }
    }
    Err(Disproved::Fails { what: shake.what, seed, reason })
}

/// Drives the work for this many steps and drops it where it is, as a process that dies does. Work
/// that ends before has ended, and its ack was lost.
async fn kill_after(steps: usize, work: impl Future) {
    let mut work = pin!(work);
    for _ in 0..steps {
        let polled = work.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        if matches!(polled, Poll::Ready(_)) {
            return;
        }
        // Lets what the work waits for go on.
        tokio::task::yield_now().await;
    }
}

//! The runner: the primary host where a process can live. One task a stream; a queue's fault is
//! that stream's, for now, and ends nothing.

use std::sync::Arc;
use std::time::Duration;

use eventlane_contracts::StreamName;
use futures::future::select;
use tokio::time::{Instant, sleep};
use tracing::warn;

use crate::consumer::Core;
use crate::drain::PROOF_OF_EMPTY;
use crate::halt::Halt;
use crate::pace::{Idle, Pace};
use crate::{EventConsumer, Handler, StartError, Stopped};

/// How often a quiet stream's queue is asked whether it is quiet or full.
const CAP_CHECK: Duration = Duration::from_secs(60);

impl EventConsumer {
    /// Starts delivering, until [`stop`](Self::stop). Started once is started: again is fine.
    ///
    /// # Errors
    /// [`StartError`] beside a pass of this consumer, after a stop, or outside of a tokio runtime.
    pub fn start(&self) -> Result<(), StartError> {
        let runtime = tokio::runtime::Handle::try_current().map_err(|_| StartError::NoRuntime)?;
        self.begin_running(|alive| {
            let streams = self.core.streams.iter();
            let tasks = streams.map(|(stream, handler)| {
                let (core, halt) = (Arc::clone(&self.core), Halt::by_stop(self.stopped()));
                let (stream, handler, alive) = (stream.clone(), Arc::clone(handler), alive.clone());
                let task = runtime.spawn(async move {
                    core.run_stream(&stream, &*handler, &halt).await;
                    drop(alive);
                });
                task.abort_handle()
            });
            tasks.collect()
        })
    }

    /// Stops for good, whatever host runs: nothing more is read or started, what was read and not
    /// started goes back at once, what runs is renewed and waited for, up to `grace`. What is still
    /// running then is dropped and lapses. Before a start it only keeps one from happening.
    ///
    /// # Cancel safety
    /// A dropped stop stays asked for; another call waits again.
    pub async fn stop(&self, grace: Duration) -> Stopped {
        let mut alive = self.ask_to_stop();
        // The last one that lives drops the sender.
        let ended = tokio::time::timeout(grace, async { while alive.changed().await.is_ok() {} }).await;
        if ended.is_ok() {
            return Stopped::Finished;
        }
        self.abort();
        warn!(grace_ms = grace.as_millis(), "stopped with callbacks still running; their messages lapse");
        Stopped::CutOff
    }
}

impl Core {
    async fn run_stream(&self, stream: &StreamName, handler: &dyn Handler, halt: &Halt) {
        let (mut idle, mut pace) = (Idle::new(&self.options), Pace::default());
        let (mut failing, mut asked) = (false, None);
        while !halt.is_reached() {
            // No more than starts within one lease: what waits here, another process could do.
            let ahead =
                pace.read_ahead(self.options.visibility, self.options.concurrency, self.options.receive);
            match self.queue.receive(stream, ahead, self.options.visibility, PROOF_OF_EMPTY).await {
                Ok(deliveries) if deliveries.is_empty() => {
                    failing = false;
                    let due = asked.is_none_or(|at: Instant| at.elapsed() >= CAP_CHECK);
                    if due {
                        asked = Some(Instant::now());
                        self.is_at_in_flight_cap(stream).await;
                    }
                }
                Ok(deliveries) => {
                    failing = false;
                    idle.reset();
                    for worked in self.work(stream, handler, deliveries, halt).await {
                        pace.learn(worked.took);
                    }
                    continue;
                }
                Err(error) => {
                    self.tallies.count(stream, |tally| tally.read_faults += 1);
                    // Once an outage, not once a poll.
                    if !std::mem::replace(&mut failing, true) {
                        warn!(%stream, tag = error.tag(), "a stream's queue can't be read; it is tried again");
                    }
                }
            }
            select(std::pin::pin!(halt.reached()), std::pin::pin!(sleep(idle.wait()))).await;
        }
    }
}

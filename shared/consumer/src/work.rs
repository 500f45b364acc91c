//! Work: the core that every host shares. One read of one stream is worked off, every lease in it
//! renewed; what may not be started any more goes back at once, beside what still runs.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use eventlane_contracts::StreamName;
use eventlane_queue::Delivery;
use futures::future::{Either, join, join_all, select};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::consumer::Core;
use crate::deliver::Outcome;
use crate::halt::Halt;
use crate::lease::Leases;
use crate::{DrainReport, Handler};

/// One delivery that was started.
#[derive(Debug)]
pub(crate) struct Worked {
    pub(crate) message_id: String,
    pub(crate) outcome: Outcome,
    pub(crate) took: Duration,
}

impl DrainReport {
    pub(crate) fn count(&mut self, outcome: Outcome) {
        self.delivered += u64::from(outcome.delivered);
        self.events_delivered += outcome.events as u64;
        self.dead_lettered += u64::from(outcome.dead_lettered);
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.delivered += other.delivered;
        self.events_delivered += other.events_delivered;
        self.dead_lettered += other.dead_lettered;
        self.empty &= other.empty;
    }
}

impl Core {
    /// Works off one read. What is missing in the answer was not started and was given back.
    pub(crate) async fn work(
        &self,
        stream: &StreamName,
        handler: &dyn Handler,
        deliveries: Vec<Delivery>,
        halt: &Halt,
    ) -> Vec<Worked> {
        let leases = Leases::hold(&*self.queue, stream, self.options.visibility, &deliveries);
        let waiting = Mutex::new(VecDeque::from(deliveries));
        let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let worker = async || {
            let mut done = Vec::new();
            while !halt.is_reached()
                && let Some(delivery) = next()
            {
                let (started, message_id) = (Instant::now(), delivery.id.clone());
                let outcome = Box::pin(self.deliver(delivery, handler, &leases, halt)).await;
                self.tallies.count(stream, |tally| {
                    tally.delivered += u64::from(outcome.delivered);
                    tally.events_delivered += outcome.events as u64;
                    tally.slowest_callback = tally.slowest_callback.max(started.elapsed());
                });
                done.push(Worked { message_id, outcome, took: started.elapsed() });
            }
            done
        };
        let finished = Notify::new();
        let working = async {
            let done = join_all((0..self.options.concurrency).map(|_| worker())).await;
            finished.notify_one();
            done
        };
        let giving_back = async {
            // With all work done there is nothing left to give back.
            select(std::pin::pin!(halt.reached()), std::pin::pin!(finished.notified())).await;
            let unstarted: Vec<Delivery> =
                waiting.lock().unwrap_or_else(PoisonError::into_inner).drain(..).collect();
            self.release_unstarted(stream, unstarted, &leases).await;
        };
        let both = join(working, giving_back);
        let done = match select(Box::pin(both), std::pin::pin!(leases.renew())).await {
            Either::Left(((done, ()), _)) => done.into_iter().flatten().collect(),
            Either::Right((never, _)) => match never {},
        };
        if leases.lost() > 0 {
            self.tallies.count(stream, |tally| tally.lapsed += leases.lost());
        }
        done
    }
}

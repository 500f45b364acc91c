//! The suite of the seam, on the scripted SQS: a disagreement with an emulator is a bug of the rig.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use eventlane_contracts::StreamName;
use eventlane_queue::conformance::{self, Harness};
use eventlane_queue::{Consumer, Producer};
use eventlane_testkit::ManualClock;
use eventlane_testkit::scripted_sqs::ScriptedSqs;

use super::{queue_on, stream};
use crate::{SqsQueue, Timeouts};

const STREAMS: u32 = 20;

struct Scripted {
    _sqs: ScriptedSqs,
    clock: ManualClock,
    queue: SqsQueue,
    next: AtomicU32,
}

#[async_trait]
impl Harness for Scripted {
    fn producer(&self) -> Arc<dyn Producer> {
        Arc::new(self.queue.clone())
    }

    fn consumer(&self) -> Arc<dyn Consumer> {
        Arc::new(self.queue.clone())
    }

    async fn fresh_stream(&self) -> StreamName {
        stream(&format!("s{}", self.next.fetch_add(1, Ordering::SeqCst)))
    }

    fn missing_stream(&self) -> StreamName {
        stream("missing")
    }

    async fn pass(&self, time: Duration) {
        self.clock.advance(time);
    }

    fn patience(&self) -> Duration {
        Duration::from_secs(3)
    }
}

#[tokio::test]
async fn sqs_as_scripted_conforms() {
    let names: Vec<String> =
        (0..STREAMS).flat_map(|n| [format!("lane-s{n}"), format!("lane-s{n}-dlq")]).collect();
    let clock = ManualClock::default();
    let sqs = ScriptedSqs::start(Arc::new(clock.clone()), names.iter().map(String::as_str));
    let queue = queue_on(&sqs, &clock, Timeouts::default(), 1);
    conformance::run(&Scripted { _sqs: sqs, clock, queue, next: AtomicU32::new(0) }).await;
}

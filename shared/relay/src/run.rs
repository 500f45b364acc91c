//! The loop: a full batch polls again at once, an idle poll waits longer and longer, a wake-up cuts
//! the wait short. No fault of the database ends it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use tokio::time::{Instant, sleep};
use tracing::{error, info, warn};

use crate::Wakeups;
use crate::dispatcher::{Core, PURGE_SLICE};
use crate::halt::Halt;
use crate::pace::Idle;

/// How often delivered rows are purged.
const PURGE_EVERY: Duration = Duration::from_secs(60);

/// Slices of one purge at most, so that it can't hold up the batches.
const PURGE_SLICES: u32 = 10;

/// Waits between two tries to listen: a pool without notifications shouldn't be asked all day.
const LISTEN_EVERY: Duration = Duration::from_secs(30);

pub(crate) async fn run(core: &Core, halt: &Halt) {
    let (mut idle, mut failing) = (Idle::new(&core.options), false);
    let (mut ears, mut chores) = (Ears::default(), Chores::default());
    while !halt.is_reached() {
        // Before the poll: what is written between the two wakes the wait.
        ears.open(core).await;
        let wait = match core.batch(halt).await {
            Ok(batch) => {
                if std::mem::take(&mut failing) {
                    info!("the outbox can be read again");
                }
                match batch.pause {
                    Some(pause) => Wait::Pause(pause),
                    None if batch.full => Wait::No,
                    None => {
                        if batch.report.claimed > 0 {
                            idle.reset();
                        }
                        Wait::Idle(idle.wait())
                    }
                }
            }
            Err(error) => {
                // Once an outage, not once a poll.
                if !std::mem::replace(&mut failing, true) {
                    warn!(error = %full(&error), "the outbox can't be read; it is tried again");
                }
                Wait::Idle(idle.wait())
            }
        };
        chores.run(core).await;
        match wait {
            Wait::No => tokio::task::yield_now().await,
            // Nothing wakes it: the other side said when.
            Wait::Pause(pause) => tokio::select! {
                () = halt.reached() => {}
                () = sleep(pause) => {}
            },
            Wait::Idle(wait) => tokio::select! {
                () = halt.reached() => {}
                () = sleep(wait) => {}
                () = ears.hear() => idle.reset(),
            },
        }
    }
}

enum Wait {
    No,
    Pause(Duration),
    Idle(Duration),
}

fn full(error: &crate::RunError) -> String {
    let source = std::error::Error::source(error).map(|source| format!(": {source}"));
    format!("{error}{}", source.unwrap_or_default())
}

/// Listens for wake-ups where there are any.
#[derive(Default)]
struct Ears {
    wakeups: Option<Box<dyn Wakeups>>,
    deaf: bool,
    tried_at: Option<Instant>,
}

impl Ears {
    async fn open(&mut self, core: &Core) {
        let early = self.tried_at.is_some_and(|at| at.elapsed() < LISTEN_EVERY);
        if self.deaf || self.wakeups.is_some() || early {
            return;
        }
        self.tried_at = Some(Instant::now());
        match core.driver.listen().await {
            Ok(Some(wakeups)) => self.wakeups = Some(wakeups),
            Ok(None) => self.deaf = true,
            Err(error) => warn!(tag = error.tag(), "no wake-ups for now; the poll goes on"),
        }
    }

    /// Ends when somebody wrote; never without ears.
    async fn hear(&mut self) {
        if let Some(wakeups) = &mut self.wakeups {
            match wakeups.next().await {
                Ok(()) => return,
                Err(error) => warn!(tag = error.tag(), "wake-ups were cut off; the poll goes on"),
            }
            self.wakeups = None;
        }
        std::future::pending::<()>().await;
    }
}

/// What is done beside the batches, now and then.
#[derive(Default)]
struct Chores {
    purged_at: Option<Instant>,
    told_at: Option<Instant>,
}

impl Chores {
    async fn run(&mut self, core: &Core) {
        if is_due(self.purged_at, PURGE_EVERY) {
            self.purged_at = Some(Instant::now());
            for _ in 0..PURGE_SLICES {
                if core.purge_slice().await < u64::from(PURGE_SLICE) {
                    break;
                }
            }
        }
        if let Some((every, hook)) = &core.metrics_hook
            && is_due(self.told_at, *every)
        {
            self.told_at = Some(Instant::now());
            match core.metrics().await {
                Ok(metrics) => {
                    if catch_unwind(AssertUnwindSafe(|| hook(&metrics))).is_err() {
                        error!("the metrics hook panicked");
                    }
                }
                Err(error) => warn!(tag = error.tag(), "the outbox can't be counted"),
            }
        }
    }
}

fn is_due(last: Option<Instant>, every: Duration) -> bool {
    last.is_none_or(|at| at.elapsed() >= every)
}

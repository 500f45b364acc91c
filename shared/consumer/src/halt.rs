//! When a host starts nothing more: its budget is spent, or it was told to stop.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

/// The end of starting. What runs goes on.
#[derive(Debug, Clone)]
pub(crate) struct Halt {
    deadline: Option<Instant>,
    stop: watch::Receiver<bool>,
}

impl Halt {
    /// Ends by a stop alone. A consumer that is dropped counts as stopped.
    pub(crate) fn by_stop(stop: watch::Receiver<bool>) -> Self {
        Self { deadline: None, stop }
    }

    /// Ends by a stop or when this much time has passed.
    pub(crate) fn after(budget: Duration, stop: watch::Receiver<bool>) -> Self {
        // A budget beyond what a clock can hold is no budget.
        Self { deadline: Instant::now().checked_add(budget), stop }
    }

    pub(crate) fn is_reached(&self) -> bool {
        *self.stop.borrow() || self.stop.has_changed().is_err() || self.left().is_zero()
    }

    /// What is left of the budget; as good as for ever without one.
    pub(crate) fn left(&self) -> Duration {
        self.deadline.map_or(Duration::MAX, |at| at.saturating_duration_since(Instant::now()))
    }

    /// Ends when it is reached.
    pub(crate) async fn reached(&self) {
        let mut stop = self.stop.clone();
        // A dropped sender is a stop as well.
        let stopped = async {
            let _ = stop.wait_for(|stop| *stop).await;
        };
        match self.deadline {
            // Either way it is reached.
            Some(at) => {
                let _ = timeout_at(at, stopped).await;
            }
            None => stopped.await,
        }
    }
}

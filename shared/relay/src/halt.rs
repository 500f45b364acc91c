//! When a pass starts nothing more: its budget is spent, or it was told to stop.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

/// The end of starting. What is in flight goes on.
#[derive(Debug, Clone)]
pub(crate) struct Halt {
    deadline: Option<Instant>,
    stop: watch::Receiver<bool>,
}

impl Halt {
    pub(crate) fn by_stop(stop: watch::Receiver<bool>) -> Self {
        Self { deadline: None, stop }
    }

    /// By a stop or when this much time has passed; a budget beyond what a clock holds is none.
    pub(crate) fn after(budget: Duration, stop: watch::Receiver<bool>) -> Self {
        Self { deadline: Instant::now().checked_add(budget), stop }
    }

    pub(crate) fn is_reached(&self) -> bool {
        let spent = self.deadline.is_some_and(|at| Instant::now() >= at);
        spent || *self.stop.borrow() || self.stop.has_changed().is_err()
    }

    /// Ends when it is reached. A dropped sender is a stop as well.
    pub(crate) async fn reached(&self) {
        let mut stop = self.stop.clone();
        let stopped = async {
            let _ = stop.wait_for(|stop| *stop).await;
        };
        match self.deadline {
            Some(at) => {
                let _ = timeout_at(at, stopped).await;
            }
            None => stopped.await,
        }
    }
}

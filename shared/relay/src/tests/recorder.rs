//! A publisher that notes what it is given and answers as it is told, and drivers that watch or fail.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use futures::future::BoxFuture;

use crate::{
    Cell, Dialect, DispatchOptions, Dispatcher, Driver, DriverError, Param, PublishError, Publisher,
    RelayRow, Wakeups,
};

type Act = dyn Fn(RelayRow) -> BoxFuture<'static, Result<(), PublishError>> + Send + Sync;

pub(super) struct Recorder {
    /// Every publish that was begun, in order.
    pub(super) seen: Mutex<Vec<RelayRow>>,
    act: Box<Act>,
}

impl Recorder {
    /// Takes every row.
    pub(super) fn taking() -> Arc<Self> {
        Self::answering(|_| Ok(()))
    }

    pub(super) fn answering(
        answer: impl Fn(&RelayRow) -> Result<(), PublishError> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Self::acting(move |row| {
            let answer = answer(&row);
            Box::pin(async { answer })
        })
    }

    pub(super) fn acting(
        act: impl Fn(RelayRow) -> BoxFuture<'static, Result<(), PublishError>> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self { seen: Mutex::default(), act: Box::new(act) })
    }

    pub(super) fn ids(&self) -> Vec<String> {
        self.seen.lock().unwrap().iter().map(|row| row.id.clone()).collect()
    }

    pub(super) fn rows(&self) -> Vec<RelayRow> {
        self.seen.lock().unwrap().clone()
    }
}

#[async_trait]
impl Publisher for Recorder {
    async fn publish(&self, row: &RelayRow) -> Result<(), PublishError> {
        self.seen.lock().unwrap().push(row.clone());
        (self.act)(row.clone()).await
    }
}

pub(super) fn dispatcher(driver: &Arc<dyn Driver>, publisher: &Arc<Recorder>) -> Dispatcher {
    with_options(driver, publisher, DispatchOptions::default())
}

pub(super) fn with_options(
    driver: &Arc<dyn Driver>,
    publisher: &Arc<Recorder>,
    options: DispatchOptions,
) -> Dispatcher {
    Dispatcher::builder(driver.clone(), publisher.clone()).options(options).build().unwrap()
}

/// Fails a statement when it is asked to, or after it was done.
pub(super) struct Watched {
    inner: Arc<dyn Driver>,
    /// Reads of candidates so far.
    pub(super) polls: AtomicUsize,
    /// Statements that begin with this text fail before they are sent, this many times.
    pub(super) failing: Mutex<(String, usize, DriverError)>,
}

impl Watched {
    pub(super) fn new(inner: &Arc<dyn Driver>) -> Arc<Self> {
        let none = (String::new(), 0, DriverError::Unreachable("told to"));
        Arc::new(Self { inner: inner.clone(), polls: AtomicUsize::new(0), failing: Mutex::new(none) })
    }

    pub(super) fn fail(&self, statement: &str, times: usize, error: DriverError) {
        *self.failing.lock().unwrap() = (statement.to_owned(), times, error);
    }

    pub(super) fn failures_left(&self) -> usize {
        self.failing.lock().unwrap().1
    }

    fn look(&self, statement: &str) -> Result<(), DriverError> {
        let candidates = self.inner.dialect().statements().candidates;
        if statement == candidates {
            self.polls.fetch_add(1, Ordering::SeqCst);
        }
        let mut failing = self.failing.lock().unwrap();
        if failing.1 > 0 && statement.starts_with(&failing.0) {
            failing.1 -= 1;
            return Err(failing.2.clone());
        }
        Ok(())
    }
}

#[async_trait]
impl Driver for Watched {
    fn dialect(&self) -> Dialect {
        self.inner.dialect()
    }

    async fn execute(&self, statement: &str, params: &[Param<'_>]) -> Result<u64, DriverError> {
        self.look(statement)?;
        self.inner.execute(statement, params).await
    }

    async fn fetch(&self, statement: &str, params: &[Param<'_>]) -> Result<Vec<Vec<Cell>>, DriverError> {
        self.look(statement)?;
        self.inner.fetch(statement, params).await
    }

    async fn listen(&self) -> Result<Option<Box<dyn Wakeups>>, DriverError> {
        self.inner.listen().await
    }
}

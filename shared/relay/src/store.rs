//! The outbox table through a driver: each statement by its name, contention tried again.

use std::time::Duration;

use tracing::debug;

use crate::row::{self, Malformed};
use crate::{Cell, Driver, DriverError, Param, RelayRow, Statements};

/// Tries of a statement that the engine tells to give way. Each one is a single short statement, so
/// more than a few in a row means something else.
const TRIES: u32 = 8;

/// The statements of a dispatcher.
pub(crate) struct Store<'d> {
    driver: &'d dyn Driver,
    /// Longest wait for one statement; its outcome is then unknown.
    patience: Duration,
}

impl<'d> Store<'d> {
    pub(crate) fn new(driver: &'d dyn Driver, patience: Duration) -> Self {
        Self { driver, patience }
    }

    fn statements(&self) -> &'static Statements {
        self.driver.dialect().statements()
    }

    pub(crate) async fn candidates(&self, limit: u32) -> Result<Vec<String>, DriverError> {
        let rows = self.fetch(self.statements().candidates, &[Param::Int(limit.into())]).await?;
        Ok(rows.into_iter().filter_map(first_text).collect())
    }

    /// Tries to take the rows; the read-back tells which were won.
    pub(crate) async fn claim(
        &self,
        ids: &[String],
        token: &str,
        lease: Duration,
    ) -> Result<(), DriverError> {
        let params = [Param::Text(token), millis(lease)];
        self.execute_for(self.statements().claim, &params, ids).await.map(drop)
    }

    pub(crate) async fn read_back(
        &self,
        ids: &[String],
        token: &str,
    ) -> Result<Vec<Result<RelayRow, Malformed>>, DriverError> {
        let statement = self.driver.dialect().with_ids(self.statements().read_back, 1, ids.len());
        let rows = self.fetch(&statement, &with_ids(&[Param::Text(token)], ids)).await?;
        Ok(rows.into_iter().filter_map(row::parse).collect())
    }

    /// Counts an attempt and renews the lease; false when the row is no longer this token's.
    pub(crate) async fn begin(&self, id: &str, token: &str, lease: Duration) -> Result<bool, DriverError> {
        let params = [millis(lease), Param::Text(id), Param::Text(token)];
        Ok(self.execute(self.statements().begin, &params).await? > 0)
    }

    /// Renews rows that are still this token's; how many that is.
    pub(crate) async fn renew(
        &self,
        ids: &[String],
        token: &str,
        lease: Duration,
    ) -> Result<u64, DriverError> {
        self.execute_for(self.statements().renew, &[millis(lease), Param::Text(token)], ids).await
    }

    /// Gives rows back, due after `delay`.
    pub(crate) async fn release(
        &self,
        ids: &[String],
        token: &str,
        delay: Duration,
    ) -> Result<u64, DriverError> {
        self.execute_for(self.statements().release, &[millis(delay), Param::Text(token)], ids).await
    }

    pub(crate) async fn delivered(&self, id: &str, token: &str) -> Result<bool, DriverError> {
        let params = [Param::Text(id), Param::Text(token)];
        Ok(self.execute(self.statements().delivered, &params).await? > 0)
    }

    pub(crate) async fn failed(
        &self,
        id: &str,
        token: &str,
        error: &str,
        give_back: bool,
        delay: Duration,
    ) -> Result<bool, DriverError> {
        let given_back = Param::Int(i64::from(give_back));
        let params = [Param::Text(error), given_back, millis(delay), Param::Text(id), Param::Text(token)];
        Ok(self.execute(self.statements().failed, &params).await? > 0)
    }

    pub(crate) async fn dead(&self, id: &str, token: &str, error: &str) -> Result<bool, DriverError> {
        let params = [Param::Text(error), Param::Text(id), Param::Text(token)];
        Ok(self.execute(self.statements().dead, &params).await? > 0)
    }

    pub(crate) async fn purge(&self, retention: Duration, limit: u32) -> Result<u64, DriverError> {
        let seconds = i64::try_from(retention.as_secs()).unwrap_or(i64::MAX);
        let params = [Param::Int(seconds), Param::Int(limit.into())];
        let rows = self.fetch(self.statements().purgeable, &params).await?;
        let ids: Vec<String> = rows.into_iter().filter_map(first_text).collect();
        if ids.is_empty() {
            return Ok(0);
        }
        self.execute_for(self.statements().purge, &[], &ids).await
    }

    async fn execute_for(
        &self,
        statement: &str,
        params: &[Param<'_>],
        ids: &[String],
    ) -> Result<u64, DriverError> {
        let statement = self.driver.dialect().with_ids(statement, params.len(), ids.len());
        self.execute(&statement, &with_ids(params, ids)).await
    }

    pub(crate) async fn execute(&self, statement: &str, params: &[Param<'_>]) -> Result<u64, DriverError> {
        let mut tries = 1;
        loop {
            match self.bounded(self.driver.execute(statement, params)).await {
                Err(DriverError::Contended { code }) if tries < TRIES => {
                    debug!(code, tries, "a statement gave way and is sent again");
                    tries += 1;
                }
                outcome => return outcome,
            }
        }
    }

    pub(crate) async fn fetch(
        &self,
        statement: &str,
        params: &[Param<'_>],
    ) -> Result<Vec<Vec<Cell>>, DriverError> {
        let mut tries = 1;
        loop {
            match self.bounded(self.driver.fetch(statement, params)).await {
                Err(DriverError::Contended { .. }) if tries < TRIES => tries += 1,
                outcome => return outcome,
            }
        }
    }

    async fn bounded<T>(&self, call: impl Future<Output = Result<T, DriverError>>) -> Result<T, DriverError> {
        let late = |_| DriverError::Unreachable("no answer in time");
        tokio::time::timeout(self.patience, call).await.map_err(late)?
    }
}

fn first_text(cells: Vec<Cell>) -> Option<String> {
    match cells.into_iter().next() {
        Some(Cell::Text(id)) => Some(id),
        _ => None,
    }
}

fn millis(duration: Duration) -> Param<'static> {
    Param::Int(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX))
}

fn with_ids<'p>(params: &[Param<'p>], ids: &'p [String]) -> Vec<Param<'p>> {
    params.iter().copied().chain(ids.iter().map(|id| Param::Text(id))).collect()
}

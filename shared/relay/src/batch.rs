//! One batch: three statements to claim it, then row by row in candidate order: count the attempt
//! and renew the lease, publish, mark. Nothing of the database is held while a row is published.

use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::atomic::Ordering;
use std::time::Duration;

use eventlane_contracts::text::dead_letter_reason;
use futures::FutureExt;
use futures::future::{Either, select};
use tokio::time::{Instant, sleep};
use tracing::{info, warn};

use crate::dispatcher::Core;
use crate::halt::Halt;
use crate::pace::backoff;
use crate::publish::Kind;
use crate::row::Malformed;
use crate::store::Store;
use crate::{DeadRow, DriverError, PublishError, RelayRow, RunError, RunReport};

/// What a batch found beside its report.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) report: RunReport,
    /// There were as many candidates as a batch may have: more may wait.
    pub(crate) full: bool,
    /// The other side is down: nothing more before this long.
    pub(crate) pause: Option<Duration>,
}

/// A claimed batch at work.
struct Work<'c> {
    core: &'c Core,
    store: Store<'c>,
    token: String,
    /// What has not been come to, the row at work first.
    left: VecDeque<String>,
    renewed_at: Instant,
}

/// A batch ends early.
enum End {
    /// The other side is down.
    Outage(Duration),
    /// The database is: what was claimed lapses.
    Database(DriverError),
}

impl Core {
    /// Claims one batch and works it off, until the halt.
    pub(crate) async fn batch(&self, halt: &Halt) -> Result<Batch, RunError> {
        let store = Store::new(&*self.driver, self.options.database_timeout);
        let candidates = store.candidates(self.options.batch).await?;
        let mut batch = Batch { full: candidates.len() >= self.options.batch as usize, ..Batch::default() };
        if candidates.is_empty() {
            return Ok(batch);
        }
        let token = uuid::Uuid::new_v4().to_string();
        // From before the claim: a lock wait in it counts against the lease.
        let renewed_at = Instant::now();
        store.claim(&candidates, &token, self.options.lease).await?;
        let rows = store.read_back(&candidates, &token).await?;
        batch.report.claimed = rows.len() as u64;
        let left = rows.iter().map(|row| row.as_ref().map_or_else(|bad| &bad.id, |row| &row.id).clone());
        let mut work = Work { core: self, store, token, left: left.collect(), renewed_at };
        for row in rows {
            if halt.is_reached() {
                break;
            }
            if let Err(end) = work.row(row, &mut batch.report).await {
                match end {
                    End::Outage(pause) => batch.pause = Some(pause),
                    End::Database(error) => return Err(error.into()),
                }
                break;
            }
            work.left.pop_front();
        }
        work.give_back(batch.pause, &mut batch.report).await;
        Ok(batch)
    }
}

impl Work<'_> {
    async fn row(&mut self, row: Result<RelayRow, Malformed>, report: &mut RunReport) -> Result<(), End> {
        let mut row = match row {
            Ok(row) => row,
            Err(Malformed { id, trouble }) => {
                return self.bury(&id, None, 0, trouble, report).await.map_err(End::Database);
            }
        };
        let max = self.core.options.max_attempts;
        if row.attempts >= max {
            // Each of them ended its process before it could be marked.
            let reason = format!("given up unfinished {} times: its process ended during each attempt", max);
            return self.bury_row(&row, &reason, report).await;
        }
        if !self.begin(&row.id).await.map_err(End::Database)? {
            self.lose(&row.id, "before its publish", report);
            return Ok(());
        }
        row.attempts += 1;
        match self.publish(&row).await {
            Ok(()) => self.deliver(&row, report).await,
            Err(error) => self.fail(&row, &error, report).await,
        }
    }

    /// Counts the attempt. A lock wait may have eaten the lease that this renewed, so it is renewed
    /// again until there is enough of it.
    async fn begin(&mut self, id: &str) -> Result<bool, DriverError> {
        let lease = self.core.options.lease;
        let mut asked_at = Instant::now();
        let mut ours = self.store.begin(id, &self.token, lease).await?;
        while ours && asked_at.elapsed() >= lease / 2 {
            asked_at = Instant::now();
            ours = self.store.renew(&[id.to_owned()], &self.token, lease).await? > 0;
        }
        Ok(ours)
    }

    /// Publishes a row, bounded; what is left of the batch is renewed meanwhile.
    async fn publish(&mut self, row: &RelayRow) -> Result<(), PublishError> {
        let publish = AssertUnwindSafe(self.core.publisher.publish(row)).catch_unwind();
        let publish = pin!(tokio::time::timeout(self.core.options.publish_timeout, publish));
        let (left, lease) = (self.left.make_contiguous(), self.core.options.lease);
        let keep = pin!(keep(&self.store, left, &self.token, lease, &mut self.renewed_at));
        let published = match select(publish, keep).await {
            Either::Left((published, _)) => published,
            Either::Right((never, _)) => match never {},
        };
        match published {
            Ok(Ok(published)) => published,
            // Its text may quote the payload.
            Ok(Err(_)) => Err(PublishError::failed("the publisher panicked")),
            Err(_) => Err(PublishError::failed("the publish took too long")),
        }
    }

    async fn deliver(&mut self, row: &RelayRow, report: &mut RunReport) -> Result<(), End> {
        self.core.outages.store(0, Ordering::Relaxed);
        self.core.counters.published.fetch_add(1, Ordering::Relaxed);
        match self.store.delivered(&row.id, &self.token).await {
            Ok(true) => report.delivered += 1,
            Ok(false) => self.lose(&row.id, "after its publish", report),
            Err(error) => {
                warn!(id = row.id, tag = error.tag(), "published but not marked; it will be published again");
                return Err(End::Database(error));
            }
        }
        Ok(())
    }

    async fn fail(
        &mut self,
        row: &RelayRow,
        error: &PublishError,
        report: &mut RunReport,
    ) -> Result<(), End> {
        let reason = dead_letter_reason(&error.message);
        let asked = error.retry_after.unwrap_or_default();
        let (give_back, delay) = match error.kind {
            Kind::Hopeless => return self.bury_row(row, &reason, report).await,
            Kind::Failed if row.attempts >= self.core.options.max_attempts => {
                return self.bury_row(row, &reason, report).await;
            }
            Kind::Failed => (false, backoff(row.attempts).max(asked)),
            Kind::Unavailable => {
                let outages = self.core.outages.fetch_add(1, Ordering::Relaxed).saturating_add(1);
                (true, backoff(outages).max(asked))
            }
        };
        info!(id = row.id, topic = row.topic, attempt = row.attempts, reason, "a row was not published");
        let marked = self.store.failed(&row.id, &self.token, &reason, give_back, delay).await;
        match marked.map_err(End::Database)? {
            true => {
                report.failed += 1;
                self.core.counters.failed.fetch_add(1, Ordering::Relaxed);
            }
            false => self.lose(&row.id, "after a failed publish", report),
        }
        if error.kind == Kind::Unavailable {
            self.left.pop_front();
            return Err(End::Outage(delay));
        }
        Ok(())
    }

    async fn bury_row(&mut self, row: &RelayRow, reason: &str, report: &mut RunReport) -> Result<(), End> {
        let buried = self.bury(&row.id, Some(&row.topic), row.attempts, reason, report);
        buried.await.map_err(End::Database)
    }

    /// Marks a row dead, then tells.
    async fn bury(
        &self,
        id: &str,
        topic: Option<&str>,
        attempts: u32,
        reason: &str,
        report: &mut RunReport,
    ) -> Result<(), DriverError> {
        if !self.store.dead(id, &self.token, reason).await? {
            self.lose(id, "before it was marked dead", report);
            return Ok(());
        }
        report.failed += 1;
        report.dead += 1;
        self.core.counters.failed.fetch_add(1, Ordering::Relaxed);
        self.core.tell_dead(&DeadRow { id, topic, attempts, reason });
        Ok(())
    }

    /// The row is another's by now: nothing of it was changed.
    fn lose(&self, id: &str, when: &'static str, report: &mut RunReport) {
        warn!(id, when, "a row's lease was lost to another dispatcher");
        report.lost += 1;
        self.core.counters.lost.fetch_add(1, Ordering::Relaxed);
    }

    /// What was not come to is another's at once, or after the pause.
    async fn give_back(&mut self, pause: Option<Duration>, report: &mut RunReport) {
        let left = self.left.make_contiguous();
        if left.is_empty() {
            return;
        }
        match self.store.release(left, &self.token, pause.unwrap_or_default()).await {
            Ok(released) => report.released += released,
            Err(error) => warn!(tag = error.tag(), "rows were not given back; their lease lapses"),
        }
    }
}

/// Renews the lease of these rows at a third of its time, for as long as it is polled.
async fn keep(
    store: &Store<'_>,
    ids: &[String],
    token: &str,
    lease: Duration,
    renewed_at: &mut Instant,
) -> std::convert::Infallible {
    loop {
        sleep((lease / 3).saturating_sub(renewed_at.elapsed())).await;
        let asked_at = Instant::now();
        match store.renew(ids, token, lease).await {
            Ok(_) => *renewed_at = asked_at,
            Err(error) => {
                warn!(tag = error.tag(), "leases weren't renewed; it is tried again");
                sleep(lease / 10).await;
            }
        }
    }
}

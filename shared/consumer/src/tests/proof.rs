//! The proof finds handlers that aren't idempotent, and passes those that are.

use std::collections::BTreeMap;

use eventlane_contracts::SystemClock;

use super::*;
use crate::proof::{Disproved, Proof, Subject, events_of, prove};
use crate::{Archive, SqliteArchive};

fn proof() -> Proof {
    let numbers: Vec<String> = (0..23).map(|n| n.to_string()).collect();
    Proof::new(name("s1"), events_of(numbers.iter().map(String::as_str)))
}

/// Adds payloads up: wrong as soon as one comes twice.
#[derive(Default)]
struct Sum(Mutex<i64>);

#[async_trait]
impl Handler for Sum {
    async fn handle(&self, batch: &SubBatch) -> Result<(), HandlerError> {
        for event in &batch.events {
            *self.0.lock().unwrap() += event.payload_as::<i64>()?;
        }
        Ok(())
    }
}

#[async_trait]
impl Subject for Sum {
    type State = i64;
    async fn state(&self) -> i64 {
        *self.0.lock().unwrap()
    }
}

/// Keeps the last payload: idempotent, and wrong in another order.
#[derive(Default)]
struct Last(Mutex<Option<i64>>);

#[async_trait]
impl Handler for Last {
    async fn handle(&self, batch: &SubBatch) -> Result<(), HandlerError> {
        for event in &batch.events {
            *self.0.lock().unwrap() = Some(event.payload_as()?);
        }
        Ok(())
    }
}

#[async_trait]
impl Subject for Last {
    type State = Option<i64>;
    async fn state(&self) -> Option<i64> {
        *self.0.lock().unwrap()
    }
}

/// Marks first and works second: a kill in between loses the work.
#[derive(Default)]
struct MarksFirst {
    marked: Mutex<BTreeMap<String, ()>>,
    done: Mutex<BTreeMap<String, ()>>,
}

#[async_trait]
impl Handler for MarksFirst {
    async fn handle(&self, batch: &SubBatch) -> Result<(), HandlerError> {
        for event in &batch.events {
            if self.marked.lock().unwrap().insert(event.event_id.clone(), ()).is_none() {
                tokio::task::yield_now().await;
                self.done.lock().unwrap().insert(event.event_id.clone(), ());
            }
        }
        Ok(())
    }
}

#[async_trait]
impl Subject for MarksFirst {
    type State = usize;
    async fn state(&self) -> usize {
        self.done.lock().unwrap().len()
    }
}

struct Archived(SqliteArchive, tempfile::TempDir);

#[async_trait]
impl Handler for Archived {
    async fn handle(&self, batch: &SubBatch) -> Result<(), HandlerError> {
        self.0.store(&batch.stream, &batch.events).await?;
        Ok(())
    }
}

#[async_trait]
impl Subject for Archived {
    type State = Vec<(String, String)>;
    async fn state(&self) -> Self::State {
        let archive = rusqlite::Connection::open(self.1.path().join("archive.db")).unwrap();
        let mut select = archive.prepare("SELECT event_id, payload FROM events ORDER BY 1").unwrap();
        let rows = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        rows.collect::<Result<_, _>>().unwrap()
    }
}

#[tokio::test]
async fn a_handler_that_counts_twice_is_found_by_redelivery() {
    let found = prove(&proof(), async || Sum::default()).await.unwrap_err();
    assert_eq!(found, Disproved::Differs { what: "redelivery", seed: 0 });
}

#[tokio::test]
async fn a_handler_that_leans_on_order_is_found_by_reordering() {
    let found = prove(&proof(), async || Last::default()).await.unwrap_err();
    assert!(matches!(found, Disproved::Differs { what: "redelivery" | "reordering", .. }), "{found}");
}

#[tokio::test]
async fn a_handler_that_marks_before_it_works_is_found_by_kills() {
    let found = prove(&proof(), async || MarksFirst::default()).await.unwrap_err();
    assert!(matches!(found, Disproved::Differs { what, .. } if what.contains("kills")), "{found}");
}

#[tokio::test]
async fn the_shipped_archive_is_proved() {
    let fresh = async || {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("archive.db");
        Archived(SqliteArchive::open(&path, Arc::new(SystemClock)).unwrap(), folder)
    };
    let proved = prove(&Proof { trials: 15, ..proof() }, fresh).await.unwrap();
    assert_eq!(proved.trials, 15);
    assert!(proved.kills > 0 && proved.deliveries > 15 * 5);
}

#[tokio::test]
async fn a_handler_that_never_succeeds_is_told_with_its_reason() {
    struct No;
    #[async_trait]
    impl Handler for No {
        async fn handle(&self, _: &SubBatch) -> Result<(), HandlerError> {
            Err(HandlerError::new("no room"))
        }
    }
    #[async_trait]
    impl Subject for No {
        type State = ();
        async fn state(&self) {}
    }
    let found = prove(&proof(), async || No).await.unwrap_err();
    assert!(found.to_string().contains("no room"), "{found}");
}

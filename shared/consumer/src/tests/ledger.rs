//! Handlers behind a ledger: handled once, as far as the marks reach.

use std::time::Duration;

use eventlane_contracts::{MessageBody, QueuedEvent};

use super::*;
use crate::{Claim, Deduplicated, Ledger, SqliteLedger};

const LEASE: Duration = Duration::from_secs(60);

fn ledger(bench: &Bench) -> SqliteLedger {
    let clock = Arc::new(PausedClock(bench.began));
    SqliteLedger::open(&bench._folder.path().join("ledger.db"), clock).unwrap()
}

fn events(ids: &[&str], who: &str) -> Vec<QueuedEvent> {
    let identity = [("who".to_owned(), who.to_owned())].into();
    let texts: Vec<String> = ids.iter().map(|id| event_text(id, "1", &identity, "1")).collect();
    serde_json::from_str::<MessageBody>(&body_text(&name("s1"), &texts)).unwrap().events
}

fn consumer(bench: &Bench, handler: &Arc<Noting>, options: DeliveryOptions) -> EventConsumer {
    let behind = Deduplicated::new(Arc::clone(handler) as Arc<dyn Handler>, Arc::new(ledger(bench)));
    EventConsumer::builder(Arc::clone(&bench.registry), Arc::new(bench.queue.clone()))
        .producer(Arc::new(bench.queue.clone()))
        .handler_for_the_rest(Arc::new(behind))
        .options(options)
        .build()
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_mark_is_ours_then_busy_then_done_and_absent_once_expired() {
    let bench = bench();
    let (ledger, s1, one) = (ledger(&bench), name("s1"), events(&["a"], "u"));
    let begin = async |owner: &str, events: &[QueuedEvent]| {
        ledger.begin(&s1, events, owner, LEASE).await.unwrap().remove(0)
    };
    assert_eq!(begin("x", &one).await, Claim::Ours);
    assert_eq!(begin("x", &one).await, Claim::Ours, "its own");
    assert_eq!(begin("y", &one).await, Claim::Busy(LEASE));
    assert_eq!(begin("y", &events(&["a"], "v")).await, Claim::Ours, "another identity");
    assert_eq!(ledger.begin(&name("s2"), &one, "y", LEASE).await.unwrap(), [Claim::Ours], "another stream");
    tokio::time::advance(Duration::from_secs(59)).await;
    assert!(ledger.renew(&s1, &one, "x", LEASE).await.unwrap());
    tokio::time::advance(Duration::from_secs(59)).await;
    assert_eq!(begin("y", &one).await, Claim::Busy(Duration::from_secs(1)));
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(begin("y", &one).await, Claim::Ours, "expired is absent");
    assert!(!ledger.renew(&s1, &one, "x", LEASE).await.unwrap(), "it was taken");
    ledger.finish(&s1, &one, "x", LEASE).await.unwrap();
    assert_eq!(begin("z", &one).await, Claim::Busy(LEASE), "one who lost it marks nothing of others");
    ledger.finish(&s1, &one, "y", 10 * LEASE).await.unwrap();
    assert_eq!(begin("z", &one).await, Claim::Done);
    tokio::time::advance(10 * LEASE).await;
    assert_eq!(begin("z", &one).await, Claim::Ours, "the horizon is over");
    ledger.forget(&s1, &one, "z").await.unwrap();
    assert_eq!(begin("w", &one).await, Claim::Ours);
}

// D13, D26
#[tokio::test(start_paused = true)]
async fn a_duplicate_of_done_is_acked_without_a_callback() {
    let bench = bench();
    bench.put("s1", &["a", "b", "a"]).await;
    let handler = Noting::ok();
    let consumer = consumer(&bench, &handler, DeliveryOptions::default());
    consumer.drain_once(BUDGET).await.unwrap();
    bench.put("s1", &["a", "b"]).await;
    bench.put("s1", &["b", "c"]).await;
    consumer.drain_once(BUDGET).await.unwrap();
    let calls: Vec<Vec<String>> =
        handler.calls.lock().unwrap().iter().map(|(_, _, ids)| ids.clone()).collect();
    assert_eq!(calls, [vec!["a".to_owned(), "b".into()], vec!["c".into()]]);
    let counts = bench.counts("s1").await;
    assert_eq!((counts.waiting, counts.in_flight, counts.dead_letters), (0, 0, 0));
}

// D21
#[tokio::test(start_paused = true)]
async fn a_kill_between_mark_and_work_blocks_for_no_longer_than_the_lease() {
    let bench = bench();
    bench.put("s1", &["a"]).await;
    // Marked by a process that died at once.
    ledger(&bench).begin(&name("s1"), &nobody("a"), "the dead", LEASE).await.unwrap();
    let handler = Noting::ok();
    let options = DeliveryOptions { max_attempts: 1, ..DeliveryOptions::default() };
    let consumer = consumer(&bench, &handler, options);
    let report = consumer.drain_once(BUDGET).await.unwrap();
    assert_eq!((handler.calls(), report.dead_lettered), (0, 0), "someone may be at it");
    tokio::time::advance(LEASE).await;
    consumer.drain_once(BUDGET).await.unwrap();
    assert_eq!(handler.firsts(), ["a"]);
}

/// An event as `put` makes them.
fn nobody(id: &str) -> Vec<QueuedEvent> {
    let text = event_text(id, "1", &Default::default(), "1");
    serde_json::from_str::<MessageBody>(&body_text(&name("s1"), &[text])).unwrap().events
}

#[tokio::test(start_paused = true)]
async fn marks_are_renewed_for_as_long_as_the_work_takes() {
    let bench = bench();
    bench.put("s1", &["a"]).await;
    let handler = Noting::new(4 * LEASE, |_| Ok(()));
    let consumer = consumer(&bench, &handler, DeliveryOptions::default());
    let (_, claims) = tokio::join!(consumer.drain_once(BUDGET), async {
        tokio::time::sleep(3 * LEASE).await;
        ledger(&bench).begin(&name("s1"), &nobody("a"), "another", LEASE).await.unwrap()
    });
    assert!(matches!(claims[..], [Claim::Busy(rest)] if rest <= LEASE), "{claims:?}");
}

// D24
#[tokio::test(start_paused = true)]
async fn a_retry_and_a_redriven_dead_letter_run_again() {
    let bench = bench();
    bench.put("s1", &["a", "b"]).await;
    let broken = Arc::new(std::sync::atomic::AtomicBool::new(true));
    let is_broken = Arc::clone(&broken);
    let handler = Noting::new(Duration::ZERO, move |_| {
        if is_broken.load(Ordering::SeqCst) { Err(HandlerError::new("a bug")) } else { Ok(()) }
    });
    let options = DeliveryOptions { max_attempts: 2, ..DeliveryOptions::default() };
    let consumer = consumer(&bench, &handler, options);
    consumer.drain_once(BUDGET).await.unwrap();
    tokio::time::advance(Duration::from_secs(5)).await;
    assert_eq!(consumer.drain_once(BUDGET).await.unwrap().dead_lettered, 1);
    assert_eq!(handler.calls(), 2, "the failure before left no mark in the way");
    broken.store(false, Ordering::SeqCst);
    bench.queue.requeue(&name("s1"), &|_| true, 10).await.unwrap();
    let report = consumer.drain_once(BUDGET).await.unwrap();
    assert_eq!((report.events_delivered, handler.calls()), (2, 3));
}

#[tokio::test(start_paused = true)]
async fn what_was_named_runs_again_and_the_rest_is_done() {
    let bench = bench();
    bench.put("s1", &["a", "b"]).await;
    let handler = Noting::new(Duration::ZERO, |batch| {
        if batch.attempt == 1 { Err(HandlerError::events(["b"], "not yet")) } else { Ok(()) }
    });
    let consumer = consumer(&bench, &handler, DeliveryOptions::default());
    consumer.drain_once(BUDGET).await.unwrap();
    tokio::time::advance(Duration::from_secs(5)).await;
    consumer.drain_once(BUDGET).await.unwrap();
    let calls: Vec<Vec<String>> =
        handler.calls.lock().unwrap().iter().map(|(_, _, ids)| ids.clone()).collect();
    assert_eq!(calls, [vec!["a".to_owned(), "b".into()], vec!["b".into()]]);
    let claims = ledger(&bench).begin(&name("s1"), &nobody("b"), "x", LEASE).await.unwrap();
    assert_eq!(claims, [Claim::Done]);
}

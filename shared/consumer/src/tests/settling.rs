//! Receipts that expire, entries that fail: what is settled again, and what never runs again.

use eventlane_queue::QueueError;

use super::faulty::{Faulty, down};
use super::*;

// D10, D13
#[tokio::test(start_paused = true)]
async fn a_finished_sub_batch_whose_ack_failed_is_acked_without_a_second_callback() {
    let bench = bench();
    bench.put("s1", &["a"]).await;
    let faulty = Faulty::on(&bench);
    faulty.acks.lock().unwrap().push_back(vec![Some(QueueError::Lapsed)]);
    let handler = Noting::ok();
    let options = DeliveryOptions { visibility: Duration::from_secs(2), ..DeliveryOptions::default() };
    let consumer = bench.consumer_on(&faulty, &handler, options);
    let first = consumer.drain_once(BUDGET).await.unwrap();
    assert_eq!((first.delivered, bench.counts("s1").await.in_flight), (1, 1));
    tokio::time::advance(Duration::from_secs(2)).await;
    let second = consumer.drain_once(BUDGET).await.unwrap();
    assert_eq!((second.delivered, second.dead_lettered, handler.calls()), (0, 0, 1));
    let counts = bench.counts("s1").await;
    assert_eq!((counts.waiting, counts.in_flight, counts.dead_letters), (0, 0, 0));
}

// D12
#[tokio::test(start_paused = true)]
async fn only_the_entry_that_failed_is_released_again() {
    let bench = bench();
    for n in 0..11 {
        bench.put("s1", &[&format!("e{n:02}")]).await;
    }
    let faulty = Faulty::on(&bench);
    let mut entries = vec![None; 9];
    entries[4] = Some(down());
    faulty.releases.lock().unwrap().push_back(entries);
    let handler = Noting::turning_slow(Duration::from_secs(60));
    bench.consumer_on(&faulty, &handler, DeliveryOptions::default()).drain_once(BUDGET).await.unwrap();
    assert_eq!(*faulty.released.lock().unwrap(), [9, 1]);
    let counts = bench.counts("s1").await;
    assert_eq!((counts.waiting, counts.in_flight), (9, 0));
}

// D12
#[tokio::test(start_paused = true)]
async fn only_the_lease_that_was_not_renewed_is_renewed_again_before_it_ends() {
    let bench = bench();
    for n in 0..4 {
        bench.put("s1", &[&format!("e{n}")]).await;
    }
    let faulty = Faulty::on(&bench);
    faulty.extends.lock().unwrap().push_back(vec![None, Some(down()), None]);
    let handler = Noting::turning_slow(Duration::from_secs(9));
    let options = DeliveryOptions { visibility: Duration::from_secs(10), ..DeliveryOptions::default() };
    let consumer = bench.consumer_on(&faulty, &handler, options);
    consumer.drain_once(Duration::from_secs(200)).await.unwrap();
    assert_eq!(faulty.extended.lock().unwrap()[..2], [3, 1]);
    assert_eq!(handler.firsts(), ["e0", "e1", "e2", "e3"], "each callback ran once");
}

// D28
#[tokio::test(start_paused = true)]
async fn a_lost_lease_starts_no_second_callback_beside_the_first() {
    let bench = bench();
    bench.put("s1", &["a"]).await;
    let faulty = Faulty::on(&bench);
    faulty.extends.lock().unwrap().push_back(vec![Some(QueueError::Lapsed)]);
    let handler = Noting::new(Duration::from_secs(30), |_| Ok(()));
    let options =
        DeliveryOptions { visibility: Duration::from_secs(10), concurrency: 2, ..DeliveryOptions::default() };
    let consumer = bench.consumer_on(&faulty, &handler, options);
    consumer.start().unwrap();
    bench.put("s1", &["b"]).await;
    tokio::time::sleep(Duration::from_secs(120)).await;
    consumer.stop(BUDGET).await;
    assert_eq!(handler.firsts(), ["a", "b"]);
    let counts = bench.counts("s1").await;
    assert_eq!((counts.waiting, counts.in_flight, counts.dead_letters), (0, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_queue_at_its_in_flight_cap_is_not_taken_for_empty() {
    let bench = bench();
    let faulty = Faulty::on(&bench);
    let full = QueueCounts {
        waiting: 5,
        in_flight: 120_000,
        dead_letters: 0,
        oldest_age: None,
        in_flight_cap: Some(120_000),
    };
    let handler = Noting::ok();
    let consumer = bench.consumer_on(&faulty, &handler, DeliveryOptions::default());
    assert!(consumer.drain_once(BUDGET).await.unwrap().empty);
    *faulty.counts.lock().unwrap() = Some(full);
    assert!(!consumer.drain_once(BUDGET).await.unwrap().empty);
}

// D07
#[tokio::test(start_paused = true)]
async fn what_was_read_and_never_started_is_no_dead_letter() {
    let bench = bench();
    for n in 0..10 {
        bench.put("s1", &[&format!("e{n}")]).await;
    }
    // Every pass is outlasted by the callback it starts.
    let handler = Noting::turning_slow(Duration::from_secs(30));
    let options = DeliveryOptions { max_attempts: 3, ..DeliveryOptions::default() };
    for _ in 0..8 {
        bench.consumer(&handler, options.clone()).drain_once(BUDGET).await.unwrap();
    }
    assert_eq!(bench.counts("s1").await.dead_letters, 0);
    let firsts = handler.firsts();
    let distinct: std::collections::BTreeSet<&String> = firsts.iter().collect();
    assert_eq!(firsts.len(), distinct.len(), "each ran once");
}

//! The runner: started once, stopped gracefully, and never ended by a queue.

use eventlane_queue::QueueError;

use super::faulty::{Faulty, down};
use super::*;
use crate::{DrainError, StartError, Stopped};

const GRACE: Duration = Duration::from_secs(30);

/// Lets time pass until it holds.
async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    for _ in 0..10_000 {
        if holds().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{what} did not come about");
}

#[tokio::test(start_paused = true)]
async fn a_runner_delivers_what_comes_until_it_is_stopped() {
    let bench = bench();
    let handler = Noting::ok();
    let consumer = bench.consumer(&handler, DeliveryOptions::default());
    consumer.start().unwrap();
    consumer.start().unwrap();
    bench.put("s1", &["a"]).await;
    until("a's delivery", async || handler.calls() == 1).await;
    bench.put("s9", &["b"]).await;
    until("b's delivery", async || handler.calls() == 2).await;
    assert_eq!(consumer.drain_once(BUDGET).await.unwrap_err(), DrainError::Running);
    assert_eq!(consumer.stop(GRACE).await, Stopped::Finished);
    assert_eq!(consumer.stop(GRACE).await, Stopped::Finished, "again is fine");
    assert_eq!(consumer.start().unwrap_err(), StartError::Stopped, "one way");
    assert_eq!(consumer.drain_once(BUDGET).await.unwrap_err(), DrainError::Stopped);
    bench.put("s1", &["c"]).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(handler.firsts(), ["a", "b"]);
}

// D30
#[tokio::test(start_paused = true)]
async fn a_stop_finishes_what_runs_and_releases_the_rest_at_once() {
    let bench = bench();
    for n in 0..11 {
        bench.put("s1", &[&format!("e{n:02}")]).await;
    }
    let handler = Noting::turning_slow(Duration::from_secs(20));
    let consumer = bench.consumer(&handler, DeliveryOptions::default());
    consumer.start().unwrap();
    until("one at work, nine read ahead", async || {
        bench.counts("s1").await.in_flight > 1 && handler.calls() == 2
    })
    .await;
    let started = Instant::now();
    let (stopped, (waiting, in_flight)) = tokio::join!(consumer.stop(GRACE), async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let counts = bench.counts("s1").await;
        (counts.waiting, counts.in_flight)
    });
    assert_eq!((waiting, in_flight), (9, 1), "released beside the one that runs");
    assert_eq!(stopped, Stopped::Finished);
    assert!(started.elapsed() <= Duration::from_secs(21), "{:?}", started.elapsed());
    let counts = bench.counts("s1").await;
    assert_eq!((counts.waiting, counts.in_flight, handler.calls()), (9, 0, 2));
}

// D30
#[tokio::test(start_paused = true)]
async fn a_stop_is_bounded_by_its_grace_and_deletes_nothing_unfinished() {
    let bench = bench();
    bench.put("s1", &["slow"]).await;
    let handler = Noting::new(Duration::from_secs(600), |_| Ok(()));
    let consumer = bench.consumer(&handler, DeliveryOptions::default());
    consumer.start().unwrap();
    until("the callback", async || handler.calls() == 1).await;
    let started = Instant::now();
    let (first, second) = tokio::join!(consumer.stop(GRACE), consumer.stop(GRACE));
    assert_eq!((first, second), (Stopped::CutOff, Stopped::CutOff), "a second signal waits no longer");
    assert!(started.elapsed() < GRACE + Duration::from_secs(1));
    assert_eq!(bench.counts("s1").await.in_flight, 1, "it lapses");
}

#[tokio::test(start_paused = true)]
async fn a_queues_fault_ends_no_runner_and_no_other_stream() {
    let bench = bench();
    let faulty = Faulty::on(&bench);
    let missing = QueueError::Queue("missing".into());
    faulty.reads.lock().unwrap().extend((0..40).map(|n| if n % 2 == 0 { down() } else { missing.clone() }));
    let handler = Noting::ok();
    let consumer = bench.consumer_on(&faulty, &handler, DeliveryOptions::default());
    consumer.start().unwrap();
    bench.put("s1", &["a"]).await;
    until("a delivery after the outage", async || handler.calls() == 1).await;
    assert_eq!(consumer.stop(GRACE).await, Stopped::Finished);
}

#[tokio::test(start_paused = true)]
async fn streams_of_a_runner_are_independent() {
    let bench = bench();
    bench.put("s1", &["stuck"]).await;
    let handler = Noting::build(
        Box::new(|call| if call == 0 { Duration::from_secs(3_600) } else { Duration::ZERO }),
        Box::new(|_| Ok(())),
    );
    let consumer = bench.consumer(&handler, DeliveryOptions::default());
    consumer.start().unwrap();
    until("the stuck one", async || handler.calls() == 1).await;
    for n in 0..50 {
        bench.put("s2", &[&format!("e{n}")]).await;
    }
    until("the other stream", async || handler.calls() == 51).await;
    assert_eq!(consumer.stop(Duration::ZERO).await, Stopped::CutOff);
}

#[tokio::test(start_paused = true)]
async fn a_start_beside_a_pass_is_refused_and_a_stop_ends_the_pass() {
    let bench = bench();
    for n in 0..20 {
        bench.put("s1", &[&format!("e{n}")]).await;
    }
    let handler = Noting::new(Duration::from_secs(1), |_| Ok(()));
    let consumer = bench.consumer(&handler, DeliveryOptions::default());
    let (report, (start, stopped)) = tokio::join!(consumer.drain_once(BUDGET), async {
        until("a callback", async || handler.calls() == 2).await;
        (consumer.start(), consumer.stop(GRACE).await)
    });
    assert_eq!((start, stopped), (Err(StartError::Draining), Stopped::Finished));
    assert!(!report.unwrap().empty);
    let counts = bench.counts("s1").await;
    assert_eq!((counts.waiting, counts.in_flight), (18, 0));
}

#[test]
fn a_start_outside_of_a_runtime_is_an_error() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let consumer = runtime.block_on(async { bench().consumer(&Noting::ok(), DeliveryOptions::default()) });
    assert_eq!(consumer.start().unwrap_err(), StartError::NoRuntime);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_consumer_stops_its_runner() {
    let bench = bench();
    let handler = Noting::ok();
    let consumer = bench.consumer(&handler, DeliveryOptions::default());
    consumer.start().unwrap();
    drop(consumer);
    tokio::time::sleep(Duration::from_secs(10)).await;
    bench.put("s1", &["a"]).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(handler.calls(), 0);
}

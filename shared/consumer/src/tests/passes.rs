//! The budget of a pass, and the streams that share it.

use super::*;
use crate::DrainError;

#[tokio::test(start_paused = true)]
async fn no_budget_reads_nothing() {
    let bench = bench();
    bench.put("s1", &["a"]).await;
    let handler = Noting::ok();
    let report =
        bench.consumer(&handler, DeliveryOptions::default()).drain_once(Duration::ZERO).await.unwrap();
    assert_eq!((report.delivered, report.empty, handler.calls()), (0, false, 0));
    assert_eq!(bench.counts("s1").await.waiting, 1);
}

// D29
#[tokio::test(start_paused = true)]
async fn the_budget_is_overrun_by_one_callback_at_most_and_the_rest_goes_back() {
    let bench = bench();
    for id in ["a", "b", "c", "d", "e", "f", "g", "h"] {
        bench.put("s1", &[id]).await;
    }
    let handler = Noting::new(Duration::from_secs(10), |_| Ok(()));
    let started = Instant::now();
    let report = bench.consumer(&handler, DeliveryOptions::default()).drain_once(BUDGET).await.unwrap();
    assert_eq!((report.delivered, report.empty), (3, false));
    assert!(started.elapsed() <= BUDGET + Duration::from_secs(10), "{:?}", started.elapsed());
    let counts = bench.counts("s1").await;
    assert_eq!((counts.waiting, counts.in_flight), (5, 0), "nothing stays leased");
}

#[tokio::test(start_paused = true)]
async fn what_was_read_and_not_started_is_released_at_once() {
    let bench = bench();
    for n in 0..12 {
        bench.put("s1", &[&format!("e{n:02}")]).await;
    }
    let handler = Noting::turning_slow(Duration::from_secs(20));
    let consumer = bench.consumer(&handler, DeliveryOptions::default());
    let report = consumer.drain_once(BUDGET).await.unwrap();
    assert_eq!((report.delivered, report.empty), (3, false));
    let counts = bench.counts("s1").await;
    assert_eq!((counts.waiting, counts.in_flight, counts.dead_letters), (9, 0, 0));
}

// D05
#[tokio::test(start_paused = true)]
async fn quiet_streams_cost_a_busy_one_nothing() {
    for busy in [0, 9] {
        let bench = bench();
        for n in 0..100 {
            bench.put(STREAMS[busy], &[&format!("e{n}")]).await;
        }
        let handler = Noting::new(Duration::from_millis(10), |_| Ok(()));
        let started = Instant::now();
        let report = bench.consumer(&handler, DeliveryOptions::default()).drain_once(BUDGET).await.unwrap();
        assert_eq!((report.delivered, report.empty), (100, true));
        assert!(started.elapsed() < Duration::from_secs(4), "long polls overlap: {:?}", started.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn concurrency_is_per_stream_and_bounded() {
    let bench = bench();
    for n in 0..40 {
        bench.put("s1", &[&format!("e{n}")]).await;
    }
    let handler = Noting::new(Duration::from_millis(100), |_| Ok(()));
    let options = DeliveryOptions { concurrency: 4, ..DeliveryOptions::default() };
    let report = bench.consumer(&handler, options).drain_once(BUDGET).await.unwrap();
    assert_eq!(report.delivered, 40);
    assert_eq!(handler.most.load(Ordering::SeqCst), 4);
}

// D28
#[tokio::test(start_paused = true)]
async fn two_passes_of_one_consumer_are_refused_and_two_consumers_share_the_work() {
    let bench = bench();
    for n in 0..20 {
        bench.put("s1", &[&format!("e{n}")]).await;
    }
    let handler = Noting::new(Duration::from_millis(10), |_| Ok(()));
    let one = bench.consumer(&handler, DeliveryOptions::default());
    let two = bench.consumer(&handler, DeliveryOptions::default());
    let (first, busy, second) =
        tokio::join!(one.drain_once(BUDGET), one.drain_once(BUDGET), two.drain_once(BUDGET));
    assert_eq!(busy.unwrap_err(), DrainError::Busy);
    assert_eq!(first.unwrap().delivered + second.unwrap().delivered, 20);
    assert_eq!(handler.calls(), 20, "no sub-batch ran twice");
    assert!(one.drain_once(Duration::ZERO).await.is_ok(), "the pass before has ended");
}

#[tokio::test(start_paused = true)]
async fn a_stream_whose_queue_is_missing_leaves_the_others_alone() {
    let bench = bench();
    bench.put("s1", &["a"]).await;
    let clock = Arc::new(PausedClock(Instant::now()));
    let only = tempfile::tempdir().unwrap();
    let queue = EmbeddedQueue::open(&only.path().join("queue.db"), [&name("s1")], clock).unwrap();
    let body = body_text(&name("s1"), &[event_text("x", "1", &Default::default(), "1")]);
    queue.enqueue(&name("s1"), &[Message::new(body)]).await;
    let handler = Noting::ok();
    let consumer = EventConsumer::builder(Arc::clone(&bench.registry), Arc::new(queue))
        .handler_for_the_rest(Arc::clone(&handler) as Arc<dyn Handler>)
        .build()
        .unwrap();
    let report = consumer.drain_once(BUDGET).await.unwrap();
    assert_eq!((report.delivered, report.empty), (1, false));
}

// D05
#[tokio::test(start_paused = true)]
async fn each_pass_begins_with_another_stream_so_that_none_starves() {
    let bench = bench();
    let faulty = super::faulty::Faulty::on(&bench);
    let consumer = bench.consumer_on(&faulty, &Noting::ok(), DeliveryOptions::default());
    let mut first = Vec::new();
    for _ in 0..11 {
        let before = faulty.asked.lock().unwrap().len();
        consumer.drain_once(BUDGET).await.unwrap();
        first.push(faulty.asked.lock().unwrap()[before].clone());
    }
    let expected: Vec<&str> = STREAMS.into_iter().chain(["s0"]).collect();
    assert_eq!(first, expected);
}

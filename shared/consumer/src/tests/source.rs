//! Deliveries that were read elsewhere, as an event source hands them in.

use std::collections::BTreeSet;

use eventlane_queue::Delivery;

use super::*;

async fn read(bench: &Bench, count: usize) -> Vec<Delivery> {
    let lease = Duration::from_secs(60);
    let read = bench.queue.receive(&name("s1"), 10, lease, Duration::ZERO).await.unwrap();
    assert_eq!(read.len(), count);
    read
}

fn by_id() -> Arc<Noting> {
    Noting::new(Duration::ZERO, |batch| match batch.events[0].event_id.as_str() {
        "bad" => Err(HandlerError::new("no")),
        _ => Ok(()),
    })
}

#[tokio::test(start_paused = true)]
async fn what_failed_is_listed_and_hidden_for_its_delay_and_the_rest_is_done() {
    let bench = bench();
    for id in ["a", "bad", "c"] {
        bench.put("s1", &[id]).await;
    }
    bench.put_raw("s1", Message::new("hello".into())).await;
    let deliveries = read(&bench, 4).await;
    let bad = deliveries[1].id.clone();
    let consumer = bench.consumer(&by_id(), DeliveryOptions::default());
    let told = consumer.deliver_read(deliveries, BUDGET).await.unwrap();
    assert_eq!(told.unfinished, [bad]);
    assert_eq!((told.report.delivered, told.report.dead_lettered, told.nameless), (2, 1, 0));
    let counts = bench.counts("s1").await;
    assert_eq!((counts.waiting, counts.in_flight, counts.dead_letters), (0, 1, 1));
    tokio::time::advance(Duration::from_secs(5)).await;
    assert_eq!(bench.counts("s1").await.waiting, 1, "after its backoff, not its lease");
}

// D29
#[tokio::test(start_paused = true)]
async fn what_is_not_started_in_time_is_listed_and_visible_at_once() {
    for (budget, done) in [(Duration::from_secs(3), 1), (Duration::ZERO, 0)] {
        let bench = bench();
        for n in 0..9 {
            bench.put("s1", &[&format!("e{n}")]).await;
        }
        let deliveries = read(&bench, 9).await;
        let ids: Vec<String> = deliveries.iter().map(|one| one.id.clone()).collect();
        let handler = Noting::new(Duration::from_secs(10), |_| Ok(()));
        let consumer = bench.consumer(&handler, DeliveryOptions::default());
        let told = consumer.deliver_read(deliveries, budget).await.unwrap();
        assert_eq!((handler.calls(), &told.unfinished[..]), (done, &ids[done..]));
        assert_eq!(bench.counts("s1").await.waiting, 9 - done as u64);
    }
}

#[tokio::test(start_paused = true)]
async fn a_foreign_stream_is_listed_and_no_empty_id_ever_is() {
    let bench = bench();
    bench.put("s1", &["a"]).await;
    bench.put("s1", &["b"]).await;
    let mut deliveries = read(&bench, 2).await;
    deliveries[0].stream = name("elsewhere");
    deliveries[1].id = String::new();
    let foreign = deliveries[0].id.clone();
    let consumer = bench.consumer(&by_id(), DeliveryOptions::default());
    let told = consumer.deliver_read(deliveries, BUDGET).await.unwrap();
    assert_eq!((told.unfinished, told.nameless), (vec![foreign], 1));
}

#[tokio::test(start_paused = true)]
async fn a_named_part_goes_back_and_its_original_is_finished() {
    let bench = bench();
    bench.put("s1", &["a", "bad"]).await;
    let deliveries = read(&bench, 1).await;
    let handler = Noting::new(Duration::ZERO, |_| Err(HandlerError::events(["bad"], "no")));
    let faulty = super::faulty::Faulty::on(&bench);
    let consumer = bench.consumer_on(&faulty, &handler, DeliveryOptions::default());
    let told = consumer.deliver_read(deliveries, BUDGET).await.unwrap();
    assert_eq!((told.unfinished.len(), told.report.events_delivered), (0, 1));
    read(&bench, 0).await;
    tokio::time::advance(Duration::from_secs(5)).await;
    let part: BTreeSet<String> = read(&bench, 1).await.into_iter().map(|one| one.body).collect();
    assert!(part.iter().all(|body| body.contains("bad") && !body.contains("\"a\"")));
}

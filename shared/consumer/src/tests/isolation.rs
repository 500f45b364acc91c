//! Only what failed comes again, and only poison becomes a dead letter.

use std::collections::BTreeSet;

use eventlane_contracts::MessageBody;
use eventlane_queue::EnqueueError;

use super::faulty::Faulty;
use super::*;

/// Fails on these events and says which.
fn naming(bad: &'static [&'static str]) -> Arc<Noting> {
    Noting::new(Duration::ZERO, move |batch| {
        let failed: Vec<String> = batch
            .events
            .iter()
            .map(|event| event.event_id.clone())
            .filter(|id| bad.contains(&id.as_str()))
            .collect();
        if failed.is_empty() { Ok(()) } else { Err(HandlerError::events(failed, "no room for it")) }
    })
}

/// Fails whole when one of these events is in it.
fn failing(bad: &'static [&'static str]) -> Arc<Noting> {
    Noting::new(Duration::ZERO, move |batch| {
        if batch.events.iter().any(|event| bad.contains(&event.event_id.as_str())) {
            return Err(HandlerError::new("it is in here"));
        }
        Ok(())
    })
}

fn times(handler: &Noting, id: &str) -> usize {
    handler.calls.lock().unwrap().iter().filter(|(_, _, ids)| ids.iter().any(|one| one == id)).count()
}

fn ids(body: &str) -> Vec<String> {
    let body: MessageBody = serde_json::from_str(body).unwrap();
    body.events.into_iter().map(|event| event.event_id).collect()
}

fn halving() -> DeliveryOptions {
    DeliveryOptions { max_attempts: 1, halve: true, ..DeliveryOptions::default() }
}

// D17
#[tokio::test(start_paused = true)]
async fn only_the_event_that_was_named_comes_again_and_dies() {
    let bench = bench();
    bench.put("s1", &["a", "b", "c"]).await;
    let faulty = Faulty::on(&bench);
    let handler = naming(&["b"]);
    let options = DeliveryOptions { max_attempts: 3, ..DeliveryOptions::default() };
    let consumer = bench.consumer_on(&faulty, &handler, options);
    let mut events = 0;
    for _ in 0..5 {
        events += consumer.drain_once(BUDGET).await.unwrap().events_delivered;
        tokio::time::advance(Duration::from_secs(60)).await;
    }
    assert_eq!((times(&handler, "a"), times(&handler, "c"), times(&handler, "b")), (1, 1, 3));
    assert_eq!(events, 2);
    let dead = bench.dead("s1").await;
    assert_eq!((dead.len(), ids(&dead[0].body), dead[0].attempts), (1, vec!["b".to_owned()], Some(3)));
    let told = bench.told.lock().unwrap().clone();
    assert_eq!((told.len(), told[0].event_ids.clone()), (1, vec!["b".to_owned()]));
    let counts = bench.counts("s1").await;
    assert_eq!((counts.waiting, counts.in_flight), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn the_part_keeps_its_story_and_its_text() {
    let bench = bench();
    let text = r#"{"n":1.10,"s":"\uffff"}"#;
    let identity = [("who".to_owned(), "u\u{FFFF}".to_owned())].into();
    let events = ["a", "b"].map(|id| event_text(id, "17", &identity, text));
    bench.put_raw("s1", Message::new(body_text(&name("s1"), &events))).await;
    let faulty = Faulty::on(&bench);
    let handler = naming(&["b"]);
    let consumer = bench.consumer_on(&faulty, &handler, DeliveryOptions::default());
    // Its first retry fails whole and waits; read it then.
    consumer.drain_once(BUDGET).await.unwrap();
    tokio::time::advance(Duration::from_secs(60)).await;
    let part = bench.queue.receive(&name("s1"), 10, BUDGET, Duration::ZERO).await.unwrap().remove(0);
    assert_eq!(part.body, body_text(&name("s1"), &events[1..]));
    assert_eq!((part.attributes.attempts, part.attributes.dead_lettered_us), (Some(1), None));
    assert!(part.attributes.parent.is_some_and(|parent| parent != part.id));
    assert!(part.attributes.first_received_us.is_some_and(|first| first <= part.first_received_us));
}

#[tokio::test(start_paused = true)]
async fn when_the_part_cannot_be_sent_the_original_lapses_whole() {
    let bench = bench();
    bench.put("s1", &["a", "b"]).await;
    let faulty = Faulty::on(&bench);
    faulty.sends.lock().unwrap().push_back(EnqueueError::Unavailable("throttled".into()));
    let handler = naming(&["b"]);
    let options = DeliveryOptions { visibility: Duration::from_secs(10), ..DeliveryOptions::default() };
    let consumer = bench.consumer_on(&faulty, &handler, options);
    consumer.drain_once(BUDGET).await.unwrap();
    let counts = bench.counts("s1").await;
    assert_eq!((counts.waiting, counts.in_flight, counts.dead_letters), (0, 1, 0));
    tokio::time::advance(Duration::from_secs(10)).await;
    consumer.drain_once(BUDGET).await.unwrap();
    assert_eq!(times(&handler, "a"), 2, "whole, it came again");
}

#[tokio::test(start_paused = true)]
async fn names_on_the_last_attempt_become_a_dead_letter_of_their_own() {
    let bench = bench();
    bench.put("s1", &["a", "b", "c"]).await;
    let faulty = Faulty::on(&bench);
    let handler = naming(&["a", "c"]);
    let options = DeliveryOptions { max_attempts: 1, ..DeliveryOptions::default() };
    let report = bench.consumer_on(&faulty, &handler, options).drain_once(BUDGET).await.unwrap();
    assert_eq!((report.events_delivered, report.dead_lettered), (1, 1));
    let dead = bench.dead("s1").await;
    assert_eq!(ids(&dead[0].body), ["a", "c"]);
    assert_eq!((dead[0].reason.as_deref(), dead[0].attempts), (Some("no room for it"), Some(1)));
    assert!(dead[0].first_received_us.is_some() && dead[0].dead_lettered_us.is_some());
}

#[tokio::test(start_paused = true)]
async fn names_that_are_not_in_the_sub_batch_or_all_of_it_fail_it_whole() {
    for bad in [&["elsewhere"][..], &["a", "b"]] {
        let bench = bench();
        bench.put("s1", &["a", "b"]).await;
        let faulty = Faulty::on(&bench);
        let handler =
            Noting::new(Duration::ZERO, move |_| Err(HandlerError::events(bad.iter().copied(), "named")));
        let options = DeliveryOptions { max_attempts: 1, ..DeliveryOptions::default() };
        bench.consumer_on(&faulty, &handler, options).drain_once(BUDGET).await.unwrap();
        assert_eq!(ids(&bench.dead("s1").await[0].body), ["a", "b"]);
    }
}

#[tokio::test(start_paused = true)]
async fn halving_leaves_only_the_poison_in_the_dead_letter() {
    let bench = bench();
    let many: Vec<String> = (0..16).map(|n| format!("e{n:02}")).collect();
    bench.put("s1", &many.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let faulty = Faulty::on(&bench);
    let handler = failing(&["e03", "e12"]);
    let report = bench.consumer_on(&faulty, &handler, halving()).drain_once(BUDGET).await.unwrap();
    assert_eq!((report.events_delivered, report.dead_lettered), (14, 1));
    assert_eq!(ids(&bench.dead("s1").await[0].body), ["e03", "e12"]);
    assert_eq!(bench.told.lock().unwrap()[0].event_ids, ["e03", "e12"]);
    assert_eq!(bench.counts("s1").await.in_flight, 0);
}

#[tokio::test(start_paused = true)]
async fn an_outage_is_one_dead_letter_and_not_a_thousand() {
    let bench = bench();
    let many: Vec<String> = (0..1000).map(|n| format!("e{n:04}")).collect();
    bench.put("s1", &many.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let faulty = Faulty::on(&bench);
    let handler = Noting::new(Duration::ZERO, |_| Err(HandlerError::new("the database is down")));
    bench.consumer_on(&faulty, &handler, halving()).drain_once(BUDGET).await.unwrap();
    let dead = bench.dead("s1").await;
    assert_eq!((dead.len(), ids(&dead[0].body).len()), (1, 1000));
    assert_eq!(handler.calls(), 1 + 2 + 4, "two levels of halves");
}

#[tokio::test(start_paused = true)]
async fn halving_keeps_to_the_budget_and_puts_back_what_it_had_no_time_for() {
    let bench = bench();
    let many: Vec<String> = (0..8).map(|n| format!("e{n}")).collect();
    bench.put("s1", &many.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let faulty = Faulty::on(&bench);
    let bad = |batch: &SubBatch| {
        let poisoned = batch.events.iter().any(|event| event.event_id == "e7");
        if poisoned { Err(HandlerError::new("it is in here")) } else { Ok(()) }
    };
    let handler = Noting::new(Duration::from_secs(6), bad);
    let consumer = bench.consumer_on(&faulty, &handler, halving());
    let started = Instant::now();
    let report = consumer.drain_once(Duration::from_secs(15)).await.unwrap();
    assert!(started.elapsed() <= Duration::from_secs(21), "one callback over: {:?}", started.elapsed());
    assert_eq!((report.events_delivered, report.dead_lettered), (4, 0), "the first half");
    for _ in 0..4 {
        consumer.drain_once(Duration::from_secs(60)).await.unwrap();
    }
    let dead = bench.dead("s1").await;
    assert_eq!((dead.len(), ids(&dead[0].body)), (1, vec!["e7".to_owned()]));
    let good: BTreeSet<String> = many[..7].iter().cloned().collect();
    assert!(good.iter().all(|id| times(&handler, id) >= 1));
}

#[tokio::test(start_paused = true)]
async fn isolation_without_a_producer_is_refused_at_the_definition() {
    struct Names;
    #[async_trait]
    impl Handler for Names {
        async fn handle(&self, _: &SubBatch) -> Result<(), HandlerError> {
            Ok(())
        }
        fn names_events(&self) -> bool {
            true
        }
    }
    let bench = bench();
    let builder = EventConsumer::builder(Arc::clone(&bench.registry), Arc::new(bench.queue.clone()))
        .handler_for_the_rest(Noting::ok())
        .handler("s1", Arc::new(Names))
        .options(halving());
    let text = builder.build().err().unwrap().to_string();
    assert!(text.contains("halving needs a producer") && text.contains("s1: its handler names"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn someone_elses_work_is_waited_for_and_never_dead_lettered() {
    let bench = bench();
    bench.put("s1", &["a"]).await;
    let handler = Noting::new(Duration::ZERO, |_| Err(HandlerError::busy(Duration::from_secs(40))));
    let options = DeliveryOptions { max_attempts: 1, ..DeliveryOptions::default() };
    let consumer = bench.consumer(&handler, options);
    for calls in 1..4 {
        let report = consumer.drain_once(BUDGET).await.unwrap();
        assert_eq!((report.dead_lettered, handler.calls()), (0, calls));
        tokio::time::advance(Duration::from_secs(38)).await;
        assert_eq!(bench.counts("s1").await.waiting, 0, "a second of the forty is the pass' own");
        tokio::time::advance(Duration::from_secs(2)).await;
    }
}

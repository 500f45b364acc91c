//! What follows from a handler's answer.

use eventlane_queue::Attributes;

use super::*;

#[tokio::test(start_paused = true)]
async fn ok_acks_and_the_events_arrive_in_append_order() {
    let bench = bench();
    bench.put("s1", &["a", "b", "c"]).await;
    let handler = Noting::ok();
    let report = bench.consumer(&handler, DeliveryOptions::default()).drain_once(BUDGET).await.unwrap();
    assert_eq!(
        (report.delivered, report.events_delivered, report.dead_lettered, report.empty),
        (1, 3, 0, true)
    );
    let calls = handler.calls.lock().unwrap().clone();
    assert_eq!(calls, [("s1".to_owned(), 1, vec!["a".to_owned(), "b".into(), "c".into()])]);
    let counts = bench.counts("s1").await;
    assert_eq!((counts.waiting, counts.in_flight), (0, 0));
}

// D16
#[tokio::test(start_paused = true)]
async fn a_failure_comes_again_after_a_growing_delay_and_is_dead_lettered_at_the_last() {
    let bench = bench();
    bench.put("s1", &["bad"]).await;
    bench.put("s1", &["good"]).await;
    let handler = Noting::new(Duration::ZERO, |batch| match batch.events[0].event_id.as_str() {
        "bad" => Err(HandlerError::new("no room for it")),
        _ => Ok(()),
    });
    let options = DeliveryOptions { max_attempts: 3, ..DeliveryOptions::default() };
    let consumer = bench.consumer(&handler, options);
    consumer.drain_once(BUDGET).await.unwrap();
    assert_eq!(handler.firsts().iter().filter(|id| *id == "bad").count(), 1, "not again within 5 s");
    tokio::time::advance(Duration::from_secs(5)).await;
    consumer.drain_once(BUDGET).await.unwrap();
    tokio::time::advance(Duration::from_secs(5)).await;
    consumer.drain_once(BUDGET).await.unwrap();
    assert_eq!(handler.firsts().iter().filter(|id| *id == "bad").count(), 2, "the second delay is 10 s");
    tokio::time::advance(Duration::from_secs(5)).await;
    let report = consumer.drain_once(BUDGET).await.unwrap();
    assert_eq!(report.dead_lettered, 1);
    assert_eq!(handler.firsts(), ["bad", "good", "bad", "bad"]);

    let dead = bench.dead("s1").await;
    assert_eq!(dead.len(), 1);
    assert_eq!((dead[0].reason.as_deref(), dead[0].attempts), (Some("no room for it"), Some(3)));
    let told = bench.told.lock().unwrap().clone();
    assert_eq!((told[0].event_ids.clone(), told[0].attempts), (vec!["bad".to_owned()], 3));
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_one_deliverys_failure() {
    let bench = bench();
    bench.put("s1", &["boom"]).await;
    bench.put("s1", &["fine"]).await;
    let handler = Noting::new(Duration::ZERO, |batch| {
        assert_ne!(batch.events[0].event_id, "boom", "s3cret");
        Ok(())
    });
    let options = DeliveryOptions { max_attempts: 1, ..DeliveryOptions::default() };
    let report = bench.consumer(&handler, options).drain_once(BUDGET).await.unwrap();
    assert_eq!((report.delivered, report.dead_lettered, report.empty), (1, 1, true));
    assert_eq!(bench.dead("s1").await[0].reason.as_deref(), Some("the handler panicked"));
}

// D20
#[tokio::test(start_paused = true)]
async fn unreadable_bodies_are_dead_letters_on_sight_and_the_rest_goes_on() {
    let bench = bench();
    let bodies =
        ["hello", "{}", r#"{"stream":"s1","events":[]}"#, r#"{"stream":"s1","events":[{"eventId":"x"}]}"#];
    for body in bodies {
        bench.put_raw("s1", Message::new(body.to_owned())).await;
    }
    bench.put("s1", &["fine"]).await;
    let handler = Noting::ok();
    let report = bench.consumer(&handler, DeliveryOptions::default()).drain_once(BUDGET).await.unwrap();
    assert_eq!((report.delivered, report.dead_lettered, report.empty), (1, 4, true));
    let dead = bench.dead("s1").await;
    assert_eq!(dead.iter().map(|letter| letter.body.as_str()).collect::<Vec<_>>(), bodies);
    assert!(dead.iter().all(|letter| letter.attempts == Some(0)));
    assert_eq!(bench.told.lock().unwrap().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn an_unknown_stream_or_version_is_deploy_skew_and_retried() {
    let bench = bench();
    let foreign = body_text(&name("elsewhere"), &[event_text("x", "1", &Default::default(), "1")]);
    bench.put_raw("s1", Message::new(foreign)).await;
    let newer = Attributes { version: 2, ..Attributes::default() };
    bench.put_raw("s1", Message { body: r#"{"v2":true}"#.into(), attributes: newer }).await;
    let handler = Noting::ok();
    let report = bench.consumer(&handler, DeliveryOptions::default()).drain_once(BUDGET).await.unwrap();
    assert_eq!((report.delivered, report.dead_lettered), (0, 0));
    assert_eq!(bench.counts("s1").await.in_flight, 2, "both wait for their delay");
    assert_eq!(handler.calls(), 0);
}

// D24
#[tokio::test(start_paused = true)]
async fn carried_attempts_count_and_a_redriven_dead_letter_starts_afresh() {
    let bench = bench();
    let body = body_text(&name("s1"), &[event_text("x", "1", &Default::default(), "1")]);
    let carried = Attributes { attempts: Some(3), ..Attributes::default() };
    let redriven = Attributes { dead_lettered_us: Some(1), ..carried.clone() };
    for attributes in [carried, redriven] {
        bench.put_raw("s1", Message { body: body.clone(), attributes }).await;
    }
    let handler = Noting::ok();
    bench.consumer(&handler, DeliveryOptions::default()).drain_once(BUDGET).await.unwrap();
    let attempts: Vec<u32> = handler.calls.lock().unwrap().iter().map(|(_, attempt, _)| *attempt).collect();
    assert_eq!(attempts, [4, 1]);
}

// D08
#[tokio::test(start_paused = true)]
async fn held_messages_are_renewed_for_as_long_as_the_work_takes() {
    let bench = bench();
    for id in ["a", "b", "c", "d"] {
        bench.put("s1", &[id]).await;
    }
    let options = DeliveryOptions { visibility: Duration::from_secs(10), ..DeliveryOptions::default() };
    let handler = Noting::turning_slow(Duration::from_secs(45));
    let consumer = bench.consumer(&handler, options);
    let (report, seen) = tokio::join!(consumer.drain_once(Duration::from_secs(200)), async {
        // One is at work, two wait behind it, all four times older than a lease.
        tokio::time::sleep(Duration::from_secs(40)).await;
        bench.queue.receive(&name("s1"), 10, Duration::from_secs(1), Duration::ZERO).await.unwrap().len()
    });
    assert_eq!((report.unwrap().delivered, seen), (4, 0));
    assert_eq!(handler.firsts(), ["a", "b", "c", "d"], "each callback ran once");
}

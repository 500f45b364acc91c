//! What a definition refuses.

use super::*;

#[tokio::test]
async fn every_offender_of_a_definition_is_named_in_one_error() {
    let bench = bench();
    let handler: Arc<dyn Handler> = Noting::ok();
    let options = DeliveryOptions {
        receive: 11,
        visibility: Duration::ZERO,
        max_attempts: 0,
        concurrency: 0,
        poll_floor: Duration::from_secs(6),
        poll_factor: 0,
        ..DeliveryOptions::default()
    };
    let queue = Arc::new(bench.queue.clone());
    let error = EventConsumer::builder(Arc::clone(&bench.registry), queue)
        .handler("s1", Arc::clone(&handler))
        .handler("s1", Arc::clone(&handler))
        .handler("nobody", handler)
        .streams(["s1", "s2", "elsewhere"])
        .options(options)
        .build()
        .err()
        .unwrap();
    let text = error.to_string();
    let parts =
        ["receive is 11", "visibility is 0", "max_attempts is 0", "concurrency is 0", "s1 has a second"];
    let parts =
        parts.into_iter().chain(["poll_floor is 6000 ms, it must be 1 to 5000 ms", "poll_factor is 0"]);
    for part in parts.chain(["nobody", "elsewhere", "s2 has no handler"]) {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
    assert_eq!(error.offenders().len(), 10, "{text}");
}

#[tokio::test]
async fn no_stream_at_all_is_refused() {
    let bench = bench();
    let none: [&str; 0] = [];
    let builder =
        EventConsumer::builder(Arc::clone(&bench.registry), Arc::new(bench.queue.clone())).streams(none);
    assert!(builder.build().err().unwrap().to_string().contains("no stream"));
}

#[tokio::test(start_paused = true)]
async fn streams_can_be_split_over_processes() {
    let bench = bench();
    bench.put("s1", &["a"]).await;
    bench.put("s2", &["b"]).await;
    let handler = Noting::ok();
    let consumer = EventConsumer::builder(Arc::clone(&bench.registry), Arc::new(bench.queue.clone()))
        .handler_for_the_rest(Arc::clone(&handler) as Arc<dyn Handler>)
        .streams(["s2"])
        .build()
        .unwrap();
    consumer.drain_once(BUDGET).await.unwrap();
    assert_eq!(handler.firsts(), ["b"]);
    assert_eq!(bench.counts("s1").await.waiting, 1);
}

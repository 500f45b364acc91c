//! The rate limit and the outbox: a client that is too quick waits as long as it is told, and loses
//! nothing.

use std::sync::Arc;
use std::time::Duration;

use eventlane_contracts::{Clock, Registry, Stream};
use eventlane_ingest::{
    AdmitAll, Ingest, IngestOptions, RateLimit, RateLimitSettings, TokenSettings, router,
};
use eventlane_outbox::{
    Credentials, FlushOptions, Flusher, HttpTransport, LaneFault, Outbox, OutboxOptions, PassEnd,
};
use eventlane_queue::{Consumer as _, EmbeddedQueue};
use eventlane_testkit::server::LocalServer;
use eventlane_testkit::{ManualClock, tokens};

#[test]
fn a_client_that_is_too_quick_waits_as_told_and_loses_nothing() {
    let (clock, folder) = (ManualClock::default(), tempfile::tempdir().unwrap());
    let now: Arc<dyn Clock> = Arc::new(clock.clone());
    let registry = Arc::new(Registry::define([Stream::json_schema("ping", serde_json::json!({}))]).unwrap());
    let names = registry.streams().map(Stream::name);
    let queue = EmbeddedQueue::open(&folder.path().join("queue.db"), names, Arc::clone(&now)).unwrap();
    let settings = RateLimitSettings { requests_per_minute: 1, burst: 1, ..RateLimitSettings::default() };
    let tokens = TokenSettings { hs256_secret: Some(tokens::HS256_SECRET.into()), ..Default::default() };
    let door = LocalServer::start(router(Arc::new(Ingest {
        registry: Arc::clone(&registry),
        producer: Arc::new(queue.clone()),
        gate: Arc::new(AdmitAll),
        tokens: tokens.verifier(&registry, Arc::clone(&now)).unwrap(),
        options: IngestOptions {
            rate_limit: Some(RateLimit::new(settings, Arc::clone(&now)).unwrap()),
            ..IngestOptions::default()
        },
    })));

    let options = OutboxOptions { clock: now, ..OutboxOptions::default() };
    let outbox = Outbox::open(folder.path().join("outbox.db"), Arc::clone(&registry), options).unwrap();
    let transport = Arc::new(HttpTransport::new(&format!("{}/api/events", door.url())).unwrap());
    let token = eventlane_testkit::tokens::hs256(&eventlane_testkit::tokens::claims("u1"));
    let source = Arc::new(move |_: bool| Ok(Credentials::bearer(token.clone())));
    let flusher = Flusher::new(outbox.clone(), FlushOptions::default(), transport, source).unwrap();

    outbox.append("ping", &1).unwrap();
    assert_eq!(flusher.flush().unwrap().acked, 1);
    outbox.append("ping", &2).unwrap();
    let turned_away = flusher.flush().unwrap();
    assert_eq!(turned_away.end, PassEnd::Failed(LaneFault::Status(429)));
    assert_eq!(turned_away.wait, Some(Duration::from_secs(60)), "Retry-After, far above the first backoff");
    assert_eq!(outbox.pending().unwrap(), 1, "nothing is lost");
    clock.advance(Duration::from_secs(59));
    assert_eq!(flusher.flush().unwrap().end, PassEnd::BackingOff, "not a second early");
    clock.advance(Duration::from_secs(1));
    assert_eq!(flusher.flush().unwrap().acked, 1);
    assert_eq!(outbox.pending().unwrap(), 0);

    let stream = registry.stream("ping").unwrap().name();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let counts = runtime.block_on(queue.counts(stream)).unwrap();
    assert_eq!(counts.waiting, 2);
}

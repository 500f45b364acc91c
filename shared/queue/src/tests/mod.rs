//! The embedded backend's promises beyond the conformance suite.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use eventlane_contracts::{Clock, StreamName};

use crate::conformance::{self, Harness};
use crate::{Consumer, EmbeddedQueue, Message, OpenError, Producer, QueueError};

const LEASE: Duration = Duration::from_secs(30);

#[derive(Default)]
struct ManualClock(AtomicI64);

impl Clock for ManualClock {
    fn now_us(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }
}

struct Fixture {
    folder: tempfile::TempDir,
    clock: Arc<ManualClock>,
    queue: EmbeddedQueue,
    next: AtomicU32,
}

fn fixture() -> Fixture {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock(AtomicI64::new(1_764_518_400_000_000)));
    let queue = open(&folder, &clock);
    Fixture { folder, clock, queue, next: AtomicU32::new(0) }
}

fn open(folder: &tempfile::TempDir, clock: &Arc<ManualClock>) -> EmbeddedQueue {
    let streams: Vec<StreamName> = (0..20).map(|n| StreamName::new(&format!("s{n}")).unwrap()).collect();
    let clock = Arc::clone(clock) as Arc<dyn Clock>;
    EmbeddedQueue::open(&folder.path().join("queue.db"), &streams, clock).unwrap()
}

#[async_trait]
impl Harness for Fixture {
    fn producer(&self) -> Arc<dyn Producer> {
        Arc::new(self.queue.clone())
    }

    fn consumer(&self) -> Arc<dyn Consumer> {
        Arc::new(self.queue.clone())
    }

    async fn fresh_stream(&self) -> StreamName {
        StreamName::new(&format!("s{}", self.next.fetch_add(1, Ordering::SeqCst))).unwrap()
    }

    fn missing_stream(&self) -> StreamName {
        StreamName::new("nobody").unwrap()
    }

    async fn pass(&self, time: Duration) {
        self.clock.0.fetch_add(i64::try_from(time.as_micros()).unwrap(), Ordering::SeqCst);
    }

    fn patience(&self) -> Duration {
        Duration::ZERO
    }
}

#[tokio::test]
async fn the_embedded_queue_conforms() {
    conformance::run(&fixture()).await;
}

#[tokio::test]
async fn leases_counts_and_dead_letters_survive_a_restart() {
    let fixture = fixture();
    let stream = fixture.fresh_stream().await;
    let messages = ["a", "b"].map(|body| Message::new(body.to_owned()));
    fixture.queue.enqueue(&stream, &messages).await;
    let mut got = fixture.queue.receive(&stream, 2, LEASE, Duration::ZERO).await.unwrap();
    fixture.queue.dead_letter(got.remove(0), "why", 1).await.unwrap();
    let held = got.remove(0);
    let Fixture { folder, clock, queue, .. } = fixture;
    drop(queue);

    let queue = open(&folder, &clock);
    let counts = queue.counts(&stream).await.unwrap();
    assert_eq!((counts.waiting, counts.in_flight, counts.dead_letters), (0, 1, 1));
    clock.0.fetch_add(30_000_000, Ordering::SeqCst);
    let again = queue.receive(&stream, 2, LEASE, Duration::ZERO).await.unwrap();
    assert_eq!((again.len(), again[0].receive_count), (1, 2));
    let stale = queue.ack(&stream, vec![held.receipt]).await.remove(0).unwrap_err();
    assert_eq!(stale.error, QueueError::Lapsed, "the old receipt settles nothing");
    assert_eq!(queue.counts(&stream).await.unwrap().in_flight, 1);
}

#[tokio::test]
async fn a_clock_that_jumps_back_hides_nothing_for_long() {
    let fixture = fixture();
    let stream = fixture.fresh_stream().await;
    fixture.queue.enqueue(&stream, &[Message::new("a".into())]).await;
    let year = 365 * 86_400 * 1_000_000;
    fixture.clock.0.fetch_sub(year, Ordering::SeqCst);
    assert_eq!(fixture.queue.receive(&stream, 1, LEASE, Duration::ZERO).await.unwrap().len(), 1);
    fixture.clock.0.fetch_add(2 * year, Ordering::SeqCst);
    assert_eq!(fixture.queue.receive(&stream, 1, LEASE, Duration::ZERO).await.unwrap().len(), 1);
}

#[tokio::test]
async fn two_handles_share_one_file_and_a_waiting_receive_wakes() {
    let fixture = fixture();
    let other = open(&fixture.folder, &fixture.clock);
    let stream = fixture.fresh_stream().await;
    let message = [Message::new("a".into())];
    let (got, _) = tokio::join!(
        other.receive(&stream, 1, LEASE, Duration::from_secs(30)),
        fixture.queue.enqueue(&stream, &message),
    );
    assert_eq!(got.unwrap().len(), 1);
    assert!(fixture.queue.receive(&stream, 1, LEASE, Duration::ZERO).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_newer_file_is_refused_and_left_as_it_is() {
    let fixture = fixture();
    let path = fixture.queue.path().to_owned();
    drop(fixture.queue);
    let raw = rusqlite::Connection::open(&path).unwrap();
    raw.pragma_update(None, "user_version", 99).unwrap();
    let clock = Arc::clone(&fixture.clock) as Arc<dyn Clock>;
    let error = EmbeddedQueue::open(&path, [], clock).err().unwrap();
    assert!(matches!(error, OpenError::Newer { found: 99, known: 1, .. }), "{error}");
    let version: i64 = raw.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    assert_eq!(version, 99);
}

#[tokio::test]
async fn a_row_that_someone_put_in_by_hand_stops_nobody() {
    let fixture = fixture();
    let stream = fixture.fresh_stream().await;
    let raw = rusqlite::Connection::open(fixture.queue.path()).unwrap();
    let insert = "INSERT INTO messages (id, stream, body, attributes, enqueued_at_us, visible_at_us) \
                  VALUES (?1, ?2, x'ff', 'nonsense', 0, 0)";
    raw.execute(insert, ("odd", stream.as_str())).unwrap();
    fixture.queue.enqueue(&stream, &[Message::new("fine".into())]).await;
    let got = fixture.queue.receive(&stream, 10, LEASE, Duration::ZERO).await.unwrap();
    let read: Vec<(&str, u32)> =
        got.iter().map(|delivery| (delivery.body.as_str(), delivery.attributes.version)).collect();
    assert_eq!(read, [("\u{FFFD}", 0), ("fine", 1)]);
}

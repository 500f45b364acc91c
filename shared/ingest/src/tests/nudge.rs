//! The nudge: once a second, briefly awaited, and its failure changes nothing.

use std::time::Duration;

use eventlane_queue::{Nudge, NudgeError};

use super::*;
use crate::Nudges;

/// Keeps what was said; then fails as told.
#[derive(Default)]
struct Bell {
    trouble: &'static str,
    said: Mutex<Vec<String>>,
}

#[async_trait]
impl Nudge for Bell {
    async fn nudge(&self, streams: &[StreamName]) -> Result<(), NudgeError> {
        self.said.lock().unwrap().push(eventlane_queue::nudge_text(streams));
        match self.trouble {
            "" => Ok(()),
            "hang" => std::future::pending().await,
            "panic" => panic!("as told"),
            word => Err(NudgeError(word.to_owned())),
        }
    }
}

fn with_bell(bell: &Arc<Bell>, queues: Queues) -> (Door, ManualClock) {
    let clock = ManualClock::default();
    let nudges = Nudges::new(bell.clone(), Arc::new(clock.clone()));
    let options = IngestOptions { nudges: Some(nudges), ..IngestOptions::default() };
    (door_of(queues, Arc::new(AdmitAll), registry(), options), clock)
}

fn said(bell: &Bell) -> Vec<String> {
    bell.said.lock().unwrap().clone()
}

#[tokio::test]
async fn streams_that_have_something_are_named_once() {
    let bell = Arc::new(Bell::default());
    let missing = EnqueueError::Queue("missing".into());
    let (door, _) = with_bell(&bell, Queues { faults: [("other", missing)].into(), ..Queues::default() });
    let events = [
        Event::new(1, "fragile", r#"{"n":1}"#),
        Event::new(2, "any_thing", "1"),
        Event::new(3, "any_thing", "2"),
        Event::new(4, "other", "1"),
        Event::new(5, "not_deployed", "1"),
    ];
    door.send(&events).await;
    assert_eq!(said(&bell), [r#"{"streams":["any_thing","fragile"]}"#]);
}

#[tokio::test]
async fn without_anything_queued_nobody_is_woken() {
    let bell = Arc::new(Bell::default());
    let down = EnqueueError::Unavailable("down".into());
    let (door, _) = with_bell(&bell, Queues { faults: [("other", down)].into(), ..Queues::default() });
    assert_eq!(door.send(&[Event::new(1, "other", "1")]).await.status, 503);
    assert_eq!(door.send(&[Event::new(1, "any_thing", "1e999")]).await.status, 200);
    assert!(said(&bell).is_empty());
}

#[tokio::test]
async fn a_second_is_quiet_and_its_streams_are_named_with_the_next() {
    let bell = Arc::new(Bell::default());
    let (door, clock) = with_bell(&bell, Queues::default());
    let send = async |stream| door.send(&[Event::new(1, stream, "1")]).await;
    send("any_thing").await;
    send("other").await;
    clock.advance(Duration::from_micros(999_999));
    send("other").await;
    assert_eq!(said(&bell).len(), 1, "quiet");
    clock.advance(Duration::from_micros(1));
    send("any_thing").await;
    assert_eq!(said(&bell)[1..], [r#"{"streams":["any_thing","other"]}"#]);
    clock.rewind(Duration::from_secs(3600));
    send("other").await;
    assert_eq!(said(&bell)[2..], [r#"{"streams":["other"]}"#], "a clock set back doesn't silence it");
}

#[tokio::test(start_paused = true)]
async fn its_failure_changes_nothing_and_it_is_awaited_a_quarter_of_a_second() {
    for (trouble, took) in [("AccessDenied", 0), ("panic", 0), ("hang", 250)] {
        let bell = Arc::new(Bell { trouble, ..Bell::default() });
        let (door, _) = with_bell(&bell, Queues::default());
        let begun = tokio::time::Instant::now();
        let verdicts = door.send(&[Event::new(1, "any_thing", "1")]).await.verdicts();
        assert_eq!(verdicts, ["acked"], "{trouble}");
        assert_eq!(begun.elapsed(), Duration::from_millis(took), "{trouble}");
        assert_eq!(said(&bell).len(), 1);
    }
}

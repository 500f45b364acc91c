//! F8 on a real thread. Nothing sleeps: the tests wait for what the server sees.

use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use super::*;
use crate::driver::Look;

const PATIENCE: Duration = Duration::from_secs(20);

/// A rig whose driver never runs on the interval, and what its server sees.
fn rig() -> (Rig, Receiver<usize>) {
    let hour = Some(Duration::from_secs(3600));
    let tuning = FlushOptions { interval: hour, linger: Some(Duration::from_millis(1)), ..tuned(2) };
    let rig = Rig::with(OutboxOptions::default(), tuning);
    let (sender, seen) = channel();
    rig.server.behave(move |batch| {
        sender.send(batch.ids.len()).unwrap();
        None
    });
    (rig, seen)
}

#[test]
fn it_sends_what_it_finds_at_start_and_what_is_appended() {
    let (rig, seen) = rig();
    let mut ids = rig.append("a", 2);
    let driver = rig.flusher.start().unwrap();
    assert_eq!(seen.recv_timeout(PATIENCE), Ok(2));
    ids.extend(rig.append("a", 1));
    assert_eq!(seen.recv_timeout(PATIENCE), Ok(1));
    assert_eq!(driver.stop(PATIENCE), Stopped::Finished);
    assert_eq!(rig.server.ids(), ids);
    assert!(rig.rows().is_empty(), "the pass was awaited");
}

fn look(driver: &Driver) -> Look {
    driver.state.look(&driver.state.inner())
}

#[test]
fn offline_it_rests_and_coming_back_it_sends_at_once() {
    let (rig, seen) = rig();
    let driver = rig.flusher.start().unwrap();
    driver.set_online(false);
    let ids = rig.append("a", 2);
    // What the thread decides by, after all that would wake it.
    assert_eq!(look(&driver), Look::Sleep, "whatever is appended");
    driver.set_online(true);
    assert_ne!(look(&driver), Look::Sleep);
    assert_eq!(seen.recv_timeout(PATIENCE), Ok(2));
    assert_eq!(driver.stop(PATIENCE), Stopped::Finished);
    assert_eq!(rig.server.ids(), ids);
}

#[test]
fn suspended_it_rests_and_resumed_it_sends_at_once() {
    let (rig, seen) = rig();
    let driver = rig.flusher.start().unwrap();
    driver.suspend();
    rig.append("a", 2);
    assert_eq!(look(&driver), Look::Sleep);
    assert_eq!(rig.flush().end, PassEnd::Stopped, "a pass by hand neither");
    driver.set_online(true);
    assert_eq!(look(&driver), Look::Sleep, "online is not resumed");
    driver.resume();
    assert_eq!(seen.recv_timeout(PATIENCE), Ok(2));
    driver.suspend();
    assert_eq!(driver.stop(PATIENCE), Stopped::Finished);
}

/// A subscriber whose events call a hook.
struct Layer(Box<dyn Fn(&tracing::Event<'_>) + Send + Sync>);

impl tracing::Subscriber for Layer {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        *metadata.level() <= tracing::Level::WARN
    }
    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }
    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn event(&self, event: &tracing::Event<'_>) {
        (self.0)(event);
    }
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}

#[test]
fn a_log_layer_may_append_whatever_the_driver_logs() {
    let (rig, _) = rig();
    rig.append("a", 1);
    let (outbox, (sender, logged)) = (rig.outbox.clone(), channel());
    let layer = move |_: &tracing::Event<'_>| {
        // With the driver's own lock held this would wait for ever: an append wakes the driver.
        let appended = outbox.append("b", &json!({})).unwrap();
        sender.send(appended.event_id).unwrap();
    };
    let dispatch = tracing::Dispatch::new(Layer(Box::new(layer)));
    let mut answers = 0;
    rig.server.behave(move |_| {
        answers += 1;
        match answers {
            1 => {
                // This is the driver's thread, and nobody else's logs come here.
                std::mem::forget(tracing::dispatcher::set_default(&dispatch));
                panic!("scripted");
            }
            2 => status(503),
            _ => None,
        }
    });
    let driver = rig.flusher.start().unwrap();
    let of_the_panic = logged.recv_timeout(PATIENCE).unwrap();
    rig.server.behaviour.clear_poison();
    rig.append("a", 1);
    let of_the_report = logged.recv_timeout(PATIENCE).unwrap();
    assert_eq!(driver.stop(PATIENCE), Stopped::Finished);
    assert!(rig.stored_ids().is_superset(&set(&[of_the_panic, of_the_report])));
}

#[test]
fn stopping_waits_for_the_batch_under_way_and_begins_no_other() {
    let (rig, _) = rig();
    rig.append("a", 6);
    let (arrived, arrivals) = channel();
    let (release, released) = channel::<()>();
    rig.server.behave(move |_| {
        arrived.send(()).unwrap();
        let _ = released.recv_timeout(PATIENCE);
        None
    });
    let driver = rig.flusher.start().unwrap();
    arrivals.recv_timeout(PATIENCE).unwrap();
    assert_eq!(driver.stop(Duration::ZERO), Stopped::StillRunning, "bounded");
    drop(release);
    let shared_with_the_driver = rig.flush();
    if shared_with_the_driver.end != PassEnd::Stopped {
        assert_eq!(shared_with_the_driver.end, PassEnd::Done);
    }
    rig.flush();
    assert!(rig.rows().is_empty(), "a later flush sends the rest");
    assert_eq!(rig.server.ids().len(), 6, "each once");
}

#[test]
fn it_survives_a_panic_of_the_transport() {
    let (rig, seen) = rig();
    let (sender, panics) = channel();
    rig.append("a", 1);
    let mut first = true;
    let tokens = move |_| Ok(Credentials::anonymous());
    let server = Arc::clone(&rig.server);
    struct Panicky<F>(Mutex<F>);
    impl<F: FnMut(PostRequest<'_>) -> Result<PostResponse, TransportError> + Send> Transport for Panicky<F> {
        fn post(&self, request: PostRequest<'_>) -> Result<PostResponse, TransportError> {
            let mut inner = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            inner(request)
        }
    }
    let transport = Panicky(Mutex::new(move |request: PostRequest<'_>| {
        if std::mem::take(&mut first) {
            sender.send(()).unwrap();
            panic!("scripted");
        }
        server.post(request)
    }));
    let tuning = FlushOptions { interval: Some(Duration::from_millis(1)), ..tuned(2) };
    let flusher = Flusher::new(rig.outbox.clone(), tuning, Arc::new(transport), Arc::new(tokens)).unwrap();
    let driver = flusher.start().unwrap();
    panics.recv_timeout(PATIENCE).unwrap();
    assert_eq!(seen.recv_timeout(PATIENCE), Ok(1));
    assert_eq!(driver.stop(PATIENCE), Stopped::Finished);
}

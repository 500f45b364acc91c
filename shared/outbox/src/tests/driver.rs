//! F8 on a real thread. Nothing sleeps: the tests wait for what the server sees.

use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use super::*;

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

#[test]
fn offline_it_rests_and_coming_back_it_sends_at_once() {
    let (rig, seen) = rig();
    let driver = rig.flusher.start().unwrap();
    driver.set_online(false);
    rig.append("a", 1);
    // Whether the append came before or after a pass at start, it is sent once the network is back.
    driver.set_online(true);
    assert_eq!(seen.recv_timeout(PATIENCE), Ok(1));
    assert_eq!(driver.stop(PATIENCE), Stopped::Finished);
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

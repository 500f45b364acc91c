//! A2, F10: append as a future, without a runtime.

use std::future::Future;
use std::pin::pin;
use std::sync::mpsc::channel;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use super::*;

struct Unpark(std::thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// The whole of the runtime that is needed.
fn block_on<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

#[test]
fn an_awaited_append_is_stored_and_told() {
    let rig = Rig::new();
    let (sender, told) = channel();
    let _status = rig.outbox.on_status(move |status| sender.send(status.empty).unwrap()).unwrap();
    assert_eq!(told.recv(), Ok(true));
    let appended = block_on(rig.outbox.append_async("a", &json!({"n": 1}))).unwrap();
    assert_eq!(rig.rows()[0].id, appended.event_id);
    assert_eq!(told.recv_timeout(Duration::from_secs(20)), Ok(false));
    assert_eq!(block_on(rig.outbox.append_json_async("a", "{oops")).unwrap_err().tag(), "invalid");
    assert_eq!(block_on(rig.outbox.append_async("nobody", &json!({}))).unwrap_err().tag(), "unknown_stream");
}

#[test]
fn appends_that_wait_together_are_all_stored_and_a_dropped_one_too() {
    let rig = Rig::new();
    let mut futures: Vec<_> = (0..500).map(|n| rig.outbox.append_async("a", &json!({ "n": n }))).collect();
    drop(futures.split_off(499));
    let seqs: Vec<i64> = futures.into_iter().map(|future| block_on(future).unwrap().seq).collect();
    assert!(seqs.is_sorted());
    block_on(rig.outbox.append_async("b", &json!({}))).unwrap();
    assert_eq!(
        rig.rows().len(),
        501,
        "queued when called, so stored by the commit of the next at the latest"
    );
}

#[test]
fn async_and_blocking_appends_share_commits_and_keep_their_own_outcomes() {
    let rig = Rig::with(
        OutboxOptions { bounds: Bounds { rows: Some(300), payload_bytes: None }, ..OutboxOptions::default() },
        tuned(10),
    );
    let ids: Vec<Vec<String>> = std::thread::scope(|scope| {
        let blocking = || {
            (0..100)
                .filter_map(|n| rig.outbox.append("a", &json!({ "n": n })).ok())
                .map(|a| a.event_id)
                .collect()
        };
        let waiting = || {
            (0..100)
                .filter_map(|n| block_on(rig.outbox.append_async("b", &json!({ "n": n }))).ok())
                .map(|appended| appended.event_id)
                .collect()
        };
        let threads: Vec<_> = (0..2).flat_map(|_| [scope.spawn(blocking), scope.spawn(waiting)]).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(set(&ids.concat()), rig.stored_ids(), "who was told so is stored, and nobody else");
    assert_eq!(rig.rows().len(), 300);
}

#[test]
fn the_committing_thread_ends_with_the_outbox() {
    let rig = Rig::new();
    block_on(rig.outbox.append_async("a", &json!({}))).unwrap();
    let inner = Arc::downgrade(&rig.outbox.inner);
    let future = rig.outbox.append_async("a", &json!({}));
    let Rig { folder: _folder, outbox, flusher, .. } = rig;
    drop((outbox, flusher));
    block_on(future).unwrap();
    // The thread may hold the outbox for the rest of its last commit.
    while inner.strong_count() > 0 {
        std::thread::yield_now();
    }
}

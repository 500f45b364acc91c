//! Serving a router over TCP to whoever comes, within bounds.
//!
//! A Lambda's gateway bounds what a stranger can hold open; a process that runs all the time has to
//! do so itself. Bodies are bounded by the door, heads and connections here.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

/// Pause after a failed accept: the system is out of file descriptors, say.
const AFTER_FAILED_ACCEPT: Duration = Duration::from_millis(100);

/// What one stranger, and all of them together, may hold.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// Longest a request's head may take, and a kept connection may idle.
    pub(crate) head_within: Duration,
    /// Most headers of a request; more is 431.
    pub(crate) headers: usize,
    /// Most bytes of a request's head, and of what is buffered of a body; at least 8,192.
    pub(crate) buffer_bytes: usize,
    /// Most connections at once; the next ones wait in the system's queue.
    pub(crate) connections: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            // As long as the lane's own client takes to connect.
            head_within: Duration::from_secs(10),
            headers: 64,
            // The longest token there may be is 16 KiB.
            buffer_bytes: 32 * 1024,
            connections: 256,
        }
    }
}

/// Serves until `until` is done, then until every request that has begun is answered.
pub(crate) async fn serve(
    listener: TcpListener,
    router: Router,
    bounds: Bounds,
    until: impl Future<Output = ()>,
) {
    let seats = Arc::new(Semaphore::new(bounds.connections));
    let (ending, ended) = watch::channel(false);
    let mut connections = JoinSet::new();
    let mut until = std::pin::pin!(until);
    loop {
        let next = async {
            // Never closed, so this is never an error.
            let seat = Arc::clone(&seats).acquire_owned().await;
            (listener.accept().await, seat)
        };
        let (accepted, seat) = tokio::select! {
            () = &mut until => break,
            next = next => next,
        };
        match accepted {
            Ok((stream, _)) => {
                let (router, ended) = (router.clone(), ended.clone());
                connections.spawn(async move {
                    connection(stream, router, bounds, ended).await;
                    drop(seat);
                });
            }
            Err(error) => {
                tracing::warn!(%error, "a connection was not accepted");
                tokio::time::sleep(AFTER_FAILED_ACCEPT).await;
            }
        }
        while connections.try_join_next().is_some() {}
    }
    drop(listener);
    ending.send_replace(true);
    while connections.join_next().await.is_some() {}
}

async fn connection(stream: TcpStream, router: Router, bounds: Bounds, mut ended: watch::Receiver<bool>) {
    let service = tower::service_fn(move |request: hyper::Request<Incoming>| {
        let router = router.clone();
        async move { tower::ServiceExt::<hyper::Request<Body>>::oneshot(router, request.map(Body::new)).await }
    });
    let service = TowerToHyperService::new(service);
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(bounds.head_within)
        .max_headers(bounds.headers)
        .max_buf_size(bounds.buffer_bytes);
    let mut connection = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), service));
    let ending = async {
        // The sender outlives every connection.
        let _ = ended.wait_for(|ended| *ended).await;
    };
    // A connection that breaks, or that says nothing for too long, is its client's matter.
    tokio::select! {
        _ = connection.as_mut() => return,
        () = ending => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net;

    use axum::routing::get;

    use super::*;

    /// Serves `GET /` with these bounds while `ask` runs on a thread of its own.
    fn with<T: Send + 'static>(bounds: Bounds, ask: impl FnOnce(net::SocketAddr) -> T + Send + 'static) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
            let asking = tokio::task::spawn_blocking(move || {
                let answer = ask(address);
                drop(stop);
                answer
            });
            let router = Router::new().route("/", get(async || "fine"));
            serve(listener, router, bounds, async {
                let _ = stopped.await;
            })
            .await;
            asking.await.unwrap()
        })
    }

    fn connect(address: net::SocketAddr) -> net::TcpStream {
        let stream = net::TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }

    fn rest(mut stream: net::TcpStream) -> String {
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn a_head_that_never_ends_is_hung_up_on_and_the_next_client_served() {
        let bounds = Bounds { head_within: Duration::from_millis(20), connections: 1, ..Bounds::default() };
        let answer = with(bounds, |address| {
            let mut slow = connect(address);
            slow.write_all(b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ").unwrap();
            assert!(!rest(slow).contains("200 OK"), "it ended without an answer of ours");
            let mut next = connect(address);
            next.write_all(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
            rest(next)
        });
        assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.ends_with("fine"), "{answer}");
    }

    #[test]
    fn heads_are_bounded_in_count_and_bytes() {
        let answers = with(Bounds::default(), |address| {
            let ask = |headers: String| {
                let mut stream = connect(address);
                let head = format!("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{headers}\r\n");
                // The answer may come before the last byte is taken.
                let _ = stream.write_all(head.as_bytes());
                let mut text = Vec::new();
                let _ = stream.read_to_end(&mut text);
                String::from_utf8(text).unwrap()
            };
            let token = format!("Authorization: Bearer {}\r\n", "x".repeat(16 * 1024));
            [ask(token), ask("X-A: b\r\n".repeat(64)), ask(format!("X-A: {}\r\n", "b".repeat(64 * 1024)))]
        });
        assert!(answers[0].starts_with("HTTP/1.1 200 OK"), "the longest token fits: {}", answers[0]);
        assert!(answers[1].starts_with("HTTP/1.1 431"), "{}", answers[1]);
        assert!(!answers[2].contains("200 OK"), "{}", answers[2]);
    }

    #[test]
    fn a_stop_lets_a_request_that_has_begun_finish() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let answer = runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let (begun, has_begun) = tokio::sync::oneshot::channel::<()>();
            let begun = Arc::new(std::sync::Mutex::new(Some(begun)));
            let (go, may_go) = watch::channel(false);
            let handler = async move || {
                drop(begun.lock().unwrap().take());
                let mut may_go = may_go.clone();
                may_go.wait_for(|go| *go).await.unwrap();
                "fine"
            };
            let asking = tokio::task::spawn_blocking(move || {
                let mut stream = connect(address);
                stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
                rest(stream)
            });
            serve(listener, Router::new().route("/", get(handler)), Bounds::default(), async move {
                let _ = has_begun.await;
                go.send_replace(true);
            })
            .await;
            asking.await.unwrap()
        });
        assert!(answer.ends_with("fine"), "{answer}");
    }
}

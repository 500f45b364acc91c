//! A loopback server on a thread of its own, so that blocking and async tests use it alike.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::thread::{self, JoinHandle};

use axum::Router;
use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::oneshot;

/// A router served on `127.0.0.1` and a free port until it is dropped; then its port refuses, and
/// every connection is closed.
#[derive(Debug)]
pub struct LocalServer {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl LocalServer {
    /// Serves the router. A handler may take `ConnectInfo<Connection>`.
    ///
    /// # Panics
    /// When no loopback port or no thread can be had.
    #[must_use]
    pub fn start(router: Router) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free loopback port");
        listener.set_nonblocking(true).expect("a listener that doesn't block");
        let address = listener.local_addr().expect("a bound listener has an address");
        let (stop, stopped) = oneshot::channel();
        let thread = thread::Builder::new()
            .name("local-server".to_owned())
            .spawn(move || serve(listener, router, stopped))
            .expect("a thread for the server");
        Self { address, stop: Some(stop), thread: Some(thread) }
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its origin, `http://127.0.0.1:PORT`, without a slash at the end.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for LocalServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A crash in there has already failed a request; a second panic would only hide it.
            let _ = thread.join();
        }
    }
}

fn serve(listener: TcpListener, router: Router, stopped: oneshot::Receiver<()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener).expect("a listener that doesn't block");
        let service = router.into_make_service_with_connect_info::<Connection>();
        tokio::select! {
            served = axum::serve(Resettable(listener), service) => served.expect("serving never fails"),
            _ = stopped => {}
        }
    });
    // Dropping the runtime drops the connections, hanging ones included.
}

/// The connection a request came on.
#[derive(Debug, Clone, Default)]
pub struct Connection {
    reset: Arc<AtomicBool>,
    /// One more than the age it was first seen in; 0 before.
    born: Arc<AtomicU64>,
}

impl Connection {
    /// Answers with a TCP reset instead of what the handler returns.
    pub fn reset(&self) {
        self.reset.store(true, Ordering::SeqCst);
    }

    /// Whether an earlier request of an earlier age came on it.
    pub(crate) fn is_older_than(&self, age: u64) -> bool {
        let born = self.born.compare_exchange(0, age + 1, Ordering::SeqCst, Ordering::SeqCst);
        born.is_err_and(|born| born < age + 1)
    }
}

impl Connected<IncomingStream<'_, Resettable>> for Connection {
    fn connect_info(stream: IncomingStream<'_, Resettable>) -> Self {
        stream.io().connection.clone()
    }
}

/// Accepts streams that can be reset.
#[derive(Debug)]
pub struct Resettable(tokio::net::TcpListener);

impl Listener for Resettable {
    type Io = ResettableStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        let (stream, address) = Listener::accept(&mut self.0).await;
        (ResettableStream { stream, connection: Connection::default() }, address)
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.0.local_addr()
    }
}

/// A stream whose first write after [`Connection::reset`] resets the connection.
#[derive(Debug)]
pub struct ResettableStream {
    stream: TcpStream,
    connection: Connection,
}

impl ResettableStream {
    fn check(&self) -> io::Result<()> {
        if !self.connection.reset.load(Ordering::SeqCst) {
            return Ok(());
        }
        // Closing with nothing to linger for sends a reset, where a plain close says goodbye.
        self.stream.set_zero_linger()?;
        Err(io::ErrorKind::ConnectionReset.into())
    }
}

impl AsyncRead for ResettableStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for ResettableStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.check()?;
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net;
    use std::time::Duration;

    use axum::extract::ConnectInfo;
    use axum::routing::get;

    use super::*;

    fn ask(server: &LocalServer, path: &str) -> io::Result<String> {
        let mut stream = net::TcpStream::connect(server.address())?;
        stream.set_read_timeout(Some(Duration::from_secs(20)))?;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    }

    #[test]
    fn it_answers_and_it_resets() {
        let reset = |ConnectInfo(connection): ConnectInfo<Connection>| async move { connection.reset() };
        let router = Router::new().route("/fine", get(async || "fine")).route("/reset", get(reset));
        let server = LocalServer::start(router);
        assert!(ask(&server, "/fine").unwrap().ends_with("fine"));
        assert_eq!(ask(&server, "/reset").unwrap_err().kind(), io::ErrorKind::ConnectionReset);
        assert!(ask(&server, "/fine").unwrap().ends_with("fine"), "a reset is one connection's");
    }

    #[test]
    fn a_dropped_server_refuses() {
        let server = LocalServer::start(Router::new());
        let address = server.address();
        drop(server);
        assert_eq!(net::TcpStream::connect(address).unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
    }
}

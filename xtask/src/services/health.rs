//! Ports, readiness and logs.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::time::Duration;

/// Lines of a log that usually hold the reason why a service ended.
const TAIL_LINES: usize = 30;

/// A loopback port that nobody listens on at this moment.
pub(super) fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

/// Whether a `GET` of this path is answered with 200.
pub(super) fn answers(port: u16, path: &str) -> bool {
    get(port, path).is_ok_and(|head| head.starts_with(b"HTTP/1.1 200") || head.starts_with(b"HTTP/1.0 200"))
}

/// The first bytes of the answer to a `GET`.
fn get(port: u16, path: &str) -> std::io::Result<[u8; 12]> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(1))?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut head = [0; 12];
    stream.read_exact(&mut head)?;
    // Read to the end: a reset in mid-answer would only fill the service's log.
    std::io::copy(&mut stream.take(1 << 20), &mut std::io::sink())?;
    Ok(head)
}

/// Whether a log says that the port was no longer free.
pub(super) fn port_was_taken(log: &Path) -> bool {
    let text = tail(log).to_lowercase();
    text.contains("already in use") || text.contains("couldn't listen on")
}

/// The last lines of a log.
pub(super) fn tail(log: &Path) -> String {
    let bytes = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n")
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    fn served(answer: &'static str) -> bool {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::scope(|scope| {
            scope.spawn(|| {
                let (mut stream, _) = listener.accept().unwrap();
                // To the end of the request: what is closed with bytes unread resets the connection.
                let mut request = Vec::new();
                while !request.ends_with(b"\r\n\r\n") {
                    let mut byte = [0];
                    stream.read_exact(&mut byte).unwrap();
                    request.extend(byte);
                }
                stream.write_all(answer.as_bytes()).unwrap();
            });
            answers(port, "/health")
        })
    }

    #[test]
    fn only_a_200_is_ready() {
        assert!(served("HTTP/1.1 200 OK\r\n\r\n{}"));
        assert!(!served("HTTP/1.1 503 Service Unavailable\r\n\r\n"));
        assert!(!served(""));
        assert!(!answers(free_port().unwrap(), "/health"));
    }
}

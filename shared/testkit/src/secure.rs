//! One answer over TLS, with a certificate that only [`ROOT`] vouches for.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// The root of the server's certificate, PEM. No machine trusts it by itself.
pub const ROOT: &str = include_str!("../keys/tls_root.pem");

/// Takes one connection, and gives its one request this answer.
#[derive(Debug)]
pub struct SecureServer {
    port: u16,
    thread: JoinHandle<Option<usize>>,
}

impl SecureServer {
    /// Listens on a free port of `localhost`; `answer` is an HTTP response, whole.
    ///
    /// # Panics
    /// When no loopback port can be had.
    #[must_use]
    pub fn start(answer: String) -> Self {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let certificate = CertificateDer::from_pem_slice(include_bytes!("../keys/tls_server.pem"));
        let key = PrivateKeyDer::from_pem_slice(include_bytes!("../keys/tls_server_key.pem"));
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions that the provider has")
            .with_no_client_auth()
            .with_single_cert(
                vec![certificate.expect("the certificate in this crate is sound")],
                key.expect("the key in this crate is sound"),
            )
            .expect("a certificate and its key");
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free loopback port");
        let port = listener.local_addr().expect("a bound listener has an address").port();
        let thread = thread::spawn(move || serve(&listener, Arc::new(config), &answer));
        Self { port, thread }
    }

    /// Its origin, without a slash at the end.
    #[must_use]
    pub fn url(&self) -> String {
        format!("https://localhost:{}", self.port)
    }

    /// Waits for the connection to end: the request's bytes, `None` when the client sent none.
    #[must_use]
    pub fn received(self) -> Option<usize> {
        self.thread.join().ok().flatten()
    }
}

fn serve(listener: &TcpListener, config: Arc<rustls::ServerConfig>, answer: &str) -> Option<usize> {
    let (stream, _) = listener.accept().ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(20))).ok()?;
    let mut tls = rustls::StreamOwned::new(rustls::ServerConnection::new(config).ok()?, stream);
    let mut request = [0; 4096];
    let read = tls.read(&mut request).ok()?;
    tls.write_all(answer.as_bytes()).ok()?;
    tls.conn.send_close_notify();
    tls.flush().ok()?;
    Some(read)
}

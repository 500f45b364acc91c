//! What kind of trouble it was when there was no answer.

use crate::error::TransportError;

/// The kind alone: ureq's own texts may quote what was sent.
pub(crate) fn kind(error: &ureq::Error) -> TransportError {
    use ureq::Error as E;
    match error {
        E::Timeout(_) => TransportError::Timeout,
        E::HostNotFound | E::ConnectionFailed | E::ConnectProxyFailed(_) => TransportError::Connect,
        E::Tls(_) | E::Rustls(_) | E::TlsRequired => TransportError::Tls,
        E::BodyExceedsLimit(_) => TransportError::TooLarge,
        E::Io(error) => io_kind(error),
        _ => TransportError::Broken,
    }
}

/// A failed handshake comes wrapped, more than once: the causes are looked through.
fn io_kind(error: &std::io::Error) -> TransportError {
    use std::io::ErrorKind as K;
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if error.is::<rustls::Error>() {
            return TransportError::Tls;
        }
        // An io error that wraps another is its own kind of box, not a source.
        cause = match error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref) {
            Some(inner) => Some(inner),
            None => error.source(),
        };
    }
    match error.kind() {
        // The standard library has no kind of its own for a name that doesn't resolve.
        _ if error.to_string().starts_with("failed to lookup address") => TransportError::Connect,
        K::TimedOut | K::WouldBlock => TransportError::Timeout,
        K::ConnectionRefused
        | K::HostUnreachable
        | K::NetworkUnreachable
        | K::NetworkDown
        | K::AddrNotAvailable => TransportError::Connect,
        _ => TransportError::Broken,
    }
}

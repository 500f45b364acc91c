//! One call of AWS's JSON protocol to an emulator on loopback, where any credentials will do.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, bail};

/// Longest answer that is read, in bytes.
const ANSWER_BYTES: u64 = 1 << 20;

/// A call.
#[derive(Debug)]
pub(crate) struct AwsJson {
    /// The service's name in a signature.
    pub(crate) service: &'static str,
    /// The operation.
    pub(crate) target: &'static str,
    /// Its parameters.
    pub(crate) body: String,
}

/// The body of a 200; anything else is an error without it.
pub(super) fn call(port: u16, call: &AwsJson) -> anyhow::Result<String> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(1))?;
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    let AwsJson { service, target, body } = call;
    let scope = format!("test/20260101/us-east-1/{service}/aws4_request");
    // By 1.0 the answer comes in one piece.
    let request = format!(
        "POST / HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/x-amz-json-1.1\r\n\
         X-Amz-Target: {target}\r\nContent-Length: {}\r\n\
         Authorization: AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=0\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.take(ANSWER_BYTES).read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").context("an answer without an end of its head")?;
    let status = head.split(' ').nth(1).unwrap_or_default();
    if status != "200" {
        bail!("{target} was answered {status}");
    }
    Ok(body.to_owned())
}

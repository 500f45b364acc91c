//! Body: read and decoded within the limit, whatever was declared.

use std::io::Read;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use eventlane_contracts::limits::BODY_BYTES;
use flate2::read::MultiGzDecoder;
use http_body_util::BodyExt;

use crate::Fault;

/// Most bytes taken in only to be thrown away: a batch of a client that doesn't know the limit.
const DISCARDED_BYTES: usize = 4 * BODY_BYTES;

/// Longest time spent on that.
const DISCARD_WITHIN: Duration = Duration::from_secs(5);

/// Longest a whole body may take to arrive: as long as the lane's own client gives a whole request.
pub(crate) const BODY_WITHIN: Duration = Duration::from_secs(30);

/// How a body is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    Plain,
    Gzip,
}

/// Refuses what is declared too large, before the token is looked at.
pub(crate) fn check_declared_length(headers: &HeaderMap) -> Result<(), Fault> {
    if declared(headers).is_some_and(|bytes| bytes > BODY_BYTES) { Err(Fault::BodyTooLarge) } else { Ok(()) }
}

/// The body's length in bytes as the request's head has it.
pub(crate) fn declared(headers: &HeaderMap) -> Option<usize> {
    let bytes: u64 = headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()?;
    Some(usize::try_from(bytes).unwrap_or(usize::MAX))
}

/// The one encoding of the request.
pub(crate) fn encoding(headers: &HeaderMap) -> Result<Encoding, Fault> {
    let mut values = headers.get_all(CONTENT_ENCODING).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(Encoding::Plain),
        (Some(value), None) if value.as_bytes().eq_ignore_ascii_case(b"identity") => Ok(Encoding::Plain),
        (Some(value), None) if value.as_bytes().eq_ignore_ascii_case(b"gzip") => Ok(Encoding::Gzip),
        _ => Err(Fault::Encoding),
    }
}

/// Reads at most the limit, and no longer than `within`; what is beyond the limit is thrown away,
/// see [`discard`]. `declared` bytes, which may be wrong, are made room for at once.
pub(crate) async fn read(body: Body, declared: Option<usize>, within: Duration) -> Result<Bytes, Fault> {
    let reading = read_all(body, declared.unwrap_or_default().min(BODY_BYTES));
    tokio::time::timeout(within, reading).await.unwrap_or(Err(Fault::Slow(within.as_secs())))
}

async fn read_all(mut body: Body, room: usize) -> Result<Bytes, Fault> {
    let mut bytes = Vec::with_capacity(room);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Fault::Framing("body ended before its end".to_owned()))?;
        let Some(data) = frame.data_ref() else { continue };
        if bytes.len() + data.len() > BODY_BYTES {
            discard(body).await;
            return Err(Fault::BodyTooLarge);
        }
        bytes.extend_from_slice(data);
    }
    Ok(bytes.into())
}

/// Takes in what a client is still sending, within bounds, before it is answered with a fault. A
/// connection that closes on a client in mid-sentence shows it a broken pipe in the answer's place:
/// it would never learn that its token has expired or its batch is too large.
pub(crate) async fn discard(mut body: Body) {
    let mut left = DISCARDED_BYTES;
    let taken = async {
        while let Some(Ok(frame)) = body.frame().await {
            let bytes = frame.data_ref().map_or(0, Bytes::len);
            match left.checked_sub(bytes) {
                Some(rest) => left = rest,
                None => return,
            }
        }
    };
    // Whoever is slower than this, or sends more, is hung up on.
    let _ = tokio::time::timeout(DISCARD_WITHIN, taken).await;
}

/// Decodes to at most the limit: a small body can't grow into a large one unseen.
pub(crate) fn decode(encoding: Encoding, body: Bytes) -> Result<Bytes, Fault> {
    if encoding == Encoding::Plain {
        return Ok(body);
    }
    let mut decoded = Vec::new();
    MultiGzDecoder::new(&body[..])
        .take(BODY_BYTES as u64 + 1)
        .read_to_end(&mut decoded)
        .map_err(|_| Fault::Framing("body is not the gzip it says it is".to_owned()))?;
    if decoded.len() > BODY_BYTES { Err(Fault::BodyTooLarge) } else { Ok(decoded.into()) }
}

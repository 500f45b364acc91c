//! Body: read and decoded within the limit, whatever was declared.

use std::io::Read;

use axum::body::{Body, Bytes};
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use eventlane_contracts::limits::BODY_BYTES;
use flate2::read::MultiGzDecoder;
use http_body_util::{BodyExt, LengthLimitError, Limited};

use crate::Fault;

/// How a body is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    Plain,
    Gzip,
}

/// Refuses what is declared too large, before the token is looked at.
pub(crate) fn check_declared_length(headers: &HeaderMap) -> Result<(), Fault> {
    let declared = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if declared.is_some_and(|bytes| bytes > BODY_BYTES as u64) { Err(Fault::BodyTooLarge) } else { Ok(()) }
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

/// Reads at most the limit.
pub(crate) async fn read(body: Body) -> Result<Bytes, Fault> {
    match Limited::new(body, BODY_BYTES).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.downcast_ref::<LengthLimitError>().is_some() => Err(Fault::BodyTooLarge),
        Err(_) => Err(Fault::Framing("body ended before its end".to_owned())),
    }
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

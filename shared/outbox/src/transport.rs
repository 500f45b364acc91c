//! What a transport is: one POST in, one answer out, whatever the status.

use std::fmt;

use crate::error::TransportError;

/// One request, to be posted as it is.
#[derive(Clone, Copy)]
pub struct PostRequest<'a> {
    /// JSON, UTF-8: at most 4 MiB, but for a single event that is larger by itself.
    pub body: &'a [u8],
    /// For the `Authorization` header.
    pub token: Option<&'a str>,
}

impl fmt::Debug for PostRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostRequest").field("body_bytes", &self.body.len()).finish_non_exhaustive()
    }
}

/// An answer, of any status.
#[derive(Clone, PartialEq, Eq)]
pub struct PostResponse {
    /// The HTTP status.
    pub status: u16,
    /// The `Retry-After` header as it came.
    pub retry_after: Option<String>,
    /// The `Date` header as it came: what a `Retry-After` that is a date is measured against, since the
    /// device's own clock may be wrong.
    pub date: Option<String>,
    /// The body of a 200; may be left empty for any other status.
    pub body: Vec<u8>,
}

impl fmt::Debug for PostResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostResponse").field("status", &self.status).finish_non_exhaustive()
    }
}

/// Posts batches. Bounded in time; never carries the token to another origin; no redirect is a success.
pub trait Transport: Send + Sync {
    /// Posts one batch and returns the answer, of whatever status.
    ///
    /// # Errors
    /// [`TransportError`] only when there was no answer.
    fn post(&self, request: PostRequest<'_>) -> Result<PostResponse, TransportError>;
}

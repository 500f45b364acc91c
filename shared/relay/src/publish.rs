//! The publisher: where rows go.

use std::time::Duration;

use async_trait::async_trait;

use crate::RelayRow;

/// Longest `retry_after` that is believed.
pub const RETRY_AFTER_CEILING: Duration = Duration::from_secs(24 * 3_600);

/// Takes rows to wherever they belong.
///
/// The same row may come more than once, with the same id and the same bytes: at least once is what
/// an outbox gives. Whoever reads at the other end dedupes by the id.
///
/// ```
/// use eventlane_relay::{PublishError, Publisher, RelayRow};
///
/// struct Print;
///
/// #[async_trait::async_trait]
/// impl Publisher for Print {
///     async fn publish(&self, row: &RelayRow) -> Result<(), PublishError> {
///         println!("{} on {}", row.id, row.topic);
///         Ok(())
///     }
/// }
/// ```
#[async_trait]
pub trait Publisher: Send + Sync {
    /// Publishes one row. `Ok` means that the other side has it for good.
    ///
    /// # Errors
    /// [`PublishError`] says what becomes of the row.
    ///
    /// # Cancel safety
    /// Dropped when it takes longer than the dispatcher's `publish_timeout`; the row comes again.
    async fn publish(&self, row: &RelayRow) -> Result<(), PublishError>;
}

/// Why a row was not published. Its text is kept in `last_error`: no payload in it, please.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PublishError {
    pub(crate) kind: Kind,
    pub(crate) message: String,
    pub(crate) retry_after: Option<Duration>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Failed,
    Hopeless,
    Unavailable,
}

impl PublishError {
    /// This row failed: it comes again after its backoff, until its attempts are spent.
    pub fn failed(message: impl Into<String>) -> Self {
        Self { kind: Kind::Failed, message: message.into(), retry_after: None }
    }

    /// This row can never be published: it goes dead at once.
    pub fn hopeless(message: impl Into<String>) -> Self {
        Self { kind: Kind::Hopeless, message: message.into(), retry_after: None }
    }

    /// The other side is down, for every row: the attempt is given back, the rest of the batch waits
    /// too, and no row goes dead for it, however long it lasts.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self { kind: Kind::Unavailable, message: message.into(), retry_after: None }
    }

    /// Not before this long, as the other side asked (`Retry-After`): longer than the backoff counts,
    /// up to [`RETRY_AFTER_CEILING`].
    #[must_use]
    pub fn retry_after(self, delay: Duration) -> Self {
        Self { retry_after: Some(delay.min(RETRY_AFTER_CEILING)), ..self }
    }
}

/// Texts from below, for `?` in a publisher.
impl From<std::io::Error> for PublishError {
    fn from(error: std::io::Error) -> Self {
        Self::failed(error.to_string())
    }
}

//! What a queue hands over, and how it is settled.

use eventlane_contracts::StreamName;

use crate::{Attributes, QueueError};

/// One message, leased to the receiver until its visibility ends.
#[derive(Debug)]
pub struct Delivery {
    /// The queue's id of the message.
    pub id: String,
    /// The stream whose queue it came from.
    pub stream: StreamName,
    /// The body, byte for byte as enqueued.
    pub body: String,
    /// What came beside it.
    pub attributes: Attributes,
    /// How often the queue has handed it out, this time included.
    pub receive_count: u32,
    /// When it was first handed out, unix microseconds.
    pub first_received_us: i64,
    /// Settling takes it by value, so a second settle doesn't compile.
    pub receipt: Receipt,
}

/// The right to settle one delivery, once.
#[derive(Debug, PartialEq, Eq)]
pub struct Receipt(pub(crate) String);

/// The lease behind a receipt: it can be extended while the receipt is held elsewhere, and nothing
/// else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease(String);

impl Lease {
    /// The backend's handle.
    #[must_use]
    pub fn handle(&self) -> &str {
        &self.0
    }
}

impl Receipt {
    /// A receipt from a backend's own handle.
    #[must_use]
    pub fn from_handle(handle: String) -> Self {
        Self(handle)
    }

    /// The backend's handle.
    #[must_use]
    pub fn handle(&self) -> &str {
        &self.0
    }

    /// The lease, for extending.
    #[must_use]
    pub fn lease(&self) -> Lease {
        Lease(self.0.clone())
    }
}

/// A settle that failed: the receipt is handed back, to be tried again or to lapse.
#[derive(Debug)]
pub struct Unsettled {
    /// The receipt.
    pub receipt: Receipt,
    /// Why.
    pub error: QueueError,
}

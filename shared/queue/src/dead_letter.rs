//! Dead letters: a message that will not be delivered again unless someone says so.

/// One dead letter, as listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLetter {
    /// The queue's id of the copy.
    pub id: String,
    /// The body, byte for byte.
    pub body: String,
    /// Why; `None` when the queue's own redrive moved it ("moved by the queue").
    pub reason: Option<String>,
    /// Attempts spent.
    pub attempts: Option<u32>,
    /// First receive, unix microseconds.
    pub first_received_us: Option<i64>,
    /// When it was dead-lettered, unix microseconds.
    pub dead_lettered_us: Option<i64>,
}

/// A listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLetterPage {
    /// What was found, in no promised order.
    pub letters: Vec<DeadLetter>,
    /// Whether that is all. A queue that can't browse says `false`: "at least this many".
    pub complete: bool,
}

/// What a requeue did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Requeued {
    /// Letters put back on the stream's queue.
    pub count: usize,
    /// Whether every letter was looked at.
    pub complete: bool,
}

/// What a discard did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Discarded {
    /// Letters deleted, for good.
    pub count: usize,
    /// Whether every letter was looked at.
    pub complete: bool,
}

/// A redrive of all dead letters that the queue service carries out by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Redrive {
    /// It was started; the service goes on by itself.
    Started,
    /// This backend has no redrive of its own: requeue instead.
    Unsupported,
}

/// Chooses dead letters.
pub type Choice<'c> = dyn for<'a> Fn(&'a DeadLetter) -> bool + Send + Sync + 'c;

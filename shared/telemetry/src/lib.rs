//! How Eventlane's programs log, and what they count.
//!
//! # Guarantees
//! - Only Eventlane's own lines follow the level asked for. Everyone else's stop at warnings: a
//!   runtime or an SDK at `trace` writes whole requests, tokens in them.
//! - A panic says where it happened and not why: its text may quote a payload. What contains the
//!   panic says whose event it was.
//! - Metrics are lines on a writer, without a client, a thread or a call: see [`Metrics`].
//!
//! # Not guaranteed
//! - That a user's handler or gate keeps to it; their log lines are theirs.
//!
//! ```
//! eventlane_telemetry::init(eventlane_telemetry::Format::Text, tracing::Level::WARN);
//! ```

mod error;
pub mod metrics;
#[cfg(test)]
mod tests;

pub use error::MetricsError;
pub use metrics::{Metrics, Record, Unit};

use tracing::Level;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// Sets the level of Eventlane's own lines: `error`, `warn`, `info`, `debug` or `trace`.
pub const LEVEL: &str = "EVENTLANE_LOG";

/// How lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// For people, on stderr.
    Text,
    /// One JSON object a line, on stdout, where Lambda collects it.
    Json,
}

/// Sets up the process' log and panic hook; the second call in a process changes nothing.
///
/// The level is that of [`LEVEL`], else `default`.
pub fn init(format: Format, default: Level) {
    let asked = std::env::var(LEVEL).ok().and_then(|level| level.trim().parse().ok());
    let lines = Targets::new().with_default(default.min(Level::WARN));
    let lines = lines.with_target("eventlane", asked.unwrap_or(default));
    let registry = tracing_subscriber::registry().with(lines);
    // Whoever has set up a log before keeps it.
    let _ = match format {
        Format::Text => {
            registry.with(tracing_subscriber::fmt::layer().with_writer(std::io::stderr)).try_init()
        }
        Format::Json => registry.with(tracing_subscriber::fmt::layer().json()).try_init(),
    };
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string);
        tracing::error!(target: "eventlane", place = place.as_deref().unwrap_or("unknown"), "panicked");
    }));
}

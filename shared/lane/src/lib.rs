//! All that a user of the lane edits: the [`streams`], the handler, the gate.
//!
//! What stands here is an example that works. Replace the streams by your own; keep or replace the
//! handler, which archives, and the gate, which asks for consent.
//!
//! Apps link this crate with `default-features = false`: they need the streams alone. The feature
//! `server` brings handler and gate.
//!
//! ```
//! let registry = eventlane_lane::registry().expect("the streams are sound");
//! assert!(registry.stream("issue_viewed").is_some());
//! ```

#[cfg(feature = "server")]
mod gate;
#[cfg(feature = "server")]
mod handler;
pub mod streams;
#[cfg(test)]
mod tests;

#[cfg(feature = "server")]
pub use gate::{ConsentGate, gate};
#[cfg(feature = "server")]
pub use handler::ArchiveHandler;
pub use streams::registry;

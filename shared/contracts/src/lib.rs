//! What both sides of the lane agree on: the limits, the wire, the registry of streams and the
//! checks a payload must pass.
//!
//! # Guarantees
//! - The client and the server run the same checks ([`Stream::check`]) with the same numbers
//!   ([`limits`]): what `append` accepts, an ingest with the same registry accepts.
//! - A [`Registry`] that could be built is sound: names fit their queues, schemas compile without
//!   touching the network or the file system, and no object silently drops an unknown key.
//! - No error and no reason of this crate carries a value from a payload or a claim.
//!
//! - [`judge`] says that a payload contract was widened with a proof only, and that it was narrowed
//!   with a counter-example only; [`evolution`] grades what changed between two locks by it.
//!
//! # Not guaranteed
//! - That a contract evolves safely: that takes somebody who runs the check against the lock's
//!   history, and raises a stream's `revision` for what a schema can't show.
//!
//! ```
//! use eventlane_contracts::{Registry, Stream};
//! use serde_json::json;
//!
//! let registry = Registry::define([
//!     Stream::json_schema("reading_taken", json!({
//!         "type": "object",
//!         "properties": {"celsius": {"type": "number"}},
//!         "required": ["celsius"],
//!         "additionalProperties": false
//!     }))
//!     .identity("deviceId", ["sub"]),
//! ])?;
//! let stream = registry.stream("reading_taken").expect("just defined");
//! assert_eq!(stream.check(r#"{ "celsius": 1.10 }"#).unwrap().stored, r#"{"celsius":1.10}"#);
//! assert!(stream.check(r#"{ "celcius": 1.10 }"#).is_err());
//! # Ok::<(), eventlane_contracts::RegistryError>(())
//! ```

mod clock;
mod contract;
pub mod evolution;
mod host;
mod identity;
mod judge;
pub mod limits;
mod lock;
mod message;
mod name;
mod payload;
mod registry;
mod scan;
mod stream;
mod strict;
#[cfg(test)]
mod tests;
pub mod text;
mod tree;
pub mod wire;

pub use clock::{Clock, SystemClock};
pub use host::is_loopback_host;
pub use identity::{ClaimPath, Identity, IdentityFault};
pub use judge::{Verdict, judge};
pub use lock::{LOCK_FORMAT, Lock, LockError, LockFormat, LockedStream};
pub use message::{
    MESSAGE_VERSION, MessageBody, PayloadMismatch, QueuedEvent, body_bytes, body_text, event_text,
};
pub use name::{NameError, StreamName};
pub use payload::{Checked, PayloadFault, check_json};
pub use registry::{Registry, RegistryError};
pub use stream::{Stream, StreamDefinition};

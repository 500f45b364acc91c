//! What Eventlane's tests are made with: builders, a clock moved by hand, golden files, an SQS that
//! can be told to fail, a source of keys that can, Lambda's Runtime API, real processes.
//!
//! # Guarantees
//! - Servers listen on `127.0.0.1` alone, on a free port, and end when they are dropped; so do
//!   processes.
//! - Nothing waits for time to pass: clocks are moved, and every wait for another process has a
//!   bound after which the test fails with what is known.
//!
//! # Not guaranteed
//! - Results instead of panics: a tool that can't do its part fails the test, and says why.
//!
//! ```
//! use eventlane_testkit::envelopes::{Event, batch};
//!
//! let body = batch(&[Event::new(1, "reading_taken", r#"{"celsius":1.10}"#)]);
//! assert!(body.contains(r#""payload":{"celsius":1.10}"#));
//! ```
#![expect(clippy::expect_used, reason = "a test tool that can't do its part has to fail the test")]

pub mod clock;
pub mod emulators;
pub mod envelopes;
pub mod golden;
pub mod jwks;
pub mod process;
pub mod runtime_api;
pub mod scripted_dynamo;
pub mod scripted_http;
pub mod scripted_sqs;
pub mod secure;
pub mod server;
pub mod tokens;

pub use clock::ManualClock;
pub use golden::golden;

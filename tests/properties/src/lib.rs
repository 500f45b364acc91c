//! What must hold whatever a stranger sends to the door.
//!
//! Each property takes any bytes and panics when it is broken. The fuzz targets of `tests/fuzz` call
//! them with inputs that coverage guides; the tests here call them with mutated fixtures, on every
//! toolchain and in every test run.
#![expect(clippy::expect_used, reason = "a property that doesn't hold has to fail")]

mod body;
mod door;
mod envelope;
#[cfg(test)]
mod mutate;
mod seeds;
#[cfg(test)]
mod tests;
mod token;

pub use body::body;
pub use envelope::envelope;
pub use seeds::seeds;
pub use token::token;

/// Panics when an input breaks it.
pub type Property = fn(&[u8]);

/// Each property under the name its fuzz target has.
pub const PROPERTIES: [(&str, Property); 3] = [("body", body), ("envelope", envelope), ("token", token)];

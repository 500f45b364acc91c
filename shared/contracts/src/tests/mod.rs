//! The crate's promises, tested through its public face.

mod registry;
mod wire;

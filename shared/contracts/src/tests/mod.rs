//! The crate's promises, tested through its public face.

mod evolution;
mod hunt;
mod judge;
mod registry;
mod wire;

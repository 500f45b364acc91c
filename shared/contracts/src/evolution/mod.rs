//! How a registry changes over time: the diff of two locks, its grades, and how it is told.

mod blind_spot;
mod check;
mod diff;
mod explain;
mod export;
mod report;

pub use blind_spot::{BlindSpot, blind_spots};
pub use check::{Check, DEPLOY_ORDER, Outcome};
pub use diff::{Change, Diff, Grade, IdentityChange, RevisionChange};
pub use explain::explain;
pub use export::{Export, export};

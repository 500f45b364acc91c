//! What Eventlane keeps in DynamoDB.

mod archive;
mod consent;
mod erase;
mod fault;
mod key;
mod ledger;

pub use archive::DynamoArchive;
pub use consent::{ConsentDefault, DynamoConsent};
pub use ledger::DynamoLedger;

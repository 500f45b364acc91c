//! What Eventlane keeps in DynamoDB.

mod archive;
mod erase;
mod fault;
mod key;
mod ledger;

pub use archive::DynamoArchive;
pub use ledger::DynamoLedger;

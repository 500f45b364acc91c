//! What Eventlane keeps in DynamoDB.

mod archive;
mod key;

pub use archive::DynamoArchive;

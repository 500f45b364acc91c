//! The handler: what happens to events on the server. This one archives them, first write wins.

use std::sync::Arc;

use async_trait::async_trait;
use eventlane_consumer::{Archive, Handler, HandlerError, SubBatch};

/// Archives every event. Idempotent by the archive's key, so a sub-batch may come again.
pub struct ArchiveHandler {
    archive: Arc<dyn Archive>,
}

impl ArchiveHandler {
    /// A handler that stores into `archive`: SQLite in a local lane, DynamoDB in AWS.
    #[must_use]
    pub fn new(archive: Arc<dyn Archive>) -> Self {
        Self { archive }
    }
}

#[async_trait]
impl Handler for ArchiveHandler {
    async fn handle(&self, batch: &SubBatch) -> Result<(), HandlerError> {
        self.archive.store(&batch.stream, &batch.events).await?;
        Ok(())
    }
}

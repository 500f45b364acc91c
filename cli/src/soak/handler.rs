//! The soak's handlers: they archive, one call in a hundred fails, and poison always does.

use std::hash::{DefaultHasher, Hash, Hasher};

use async_trait::async_trait;
use eventlane_consumer::{Archive, Handler, HandlerError, SqliteArchive, SubBatch};

use super::is_poison;

/// One call in this many fails, poison aside.
const FAILS_EVERY: u64 = 100;

pub(super) struct SoakHandler {
    pub(super) archive: SqliteArchive,
    pub(super) seed: u64,
    pub(super) max_attempts: u32,
    /// Whether it names the poison, or fails whole and leaves it to halving.
    pub(super) names: bool,
}

#[async_trait]
impl Handler for SoakHandler {
    async fn handle(&self, batch: &SubBatch) -> Result<(), HandlerError> {
        // Before anything is stored, and never on the last attempt: what fails by chance is late,
        // not dead.
        if batch.attempt < self.max_attempts && self.draw(batch) == 0 {
            return Err(HandlerError::new("by chance"));
        }
        let mut poison = Vec::new();
        let mut sound = Vec::new();
        for event in &batch.events {
            if is_poison(event.payload_as()?) { poison.push(event) } else { sound.push(event.clone()) }
        }
        if !poison.is_empty() && !self.names {
            return Err(HandlerError::new("poison"));
        }
        self.archive.store(&batch.stream, &sound).await?;
        if poison.is_empty() {
            return Ok(());
        }
        Err(HandlerError::events(poison.iter().map(|event| event.event_id.clone()), "poison"))
    }
}

impl SoakHandler {
    /// A number below [`FAILS_EVERY`] that follows from the seed, the message and the attempt.
    fn draw(&self, batch: &SubBatch) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.seed, &batch.message_id, batch.attempt).hash(&mut hasher);
        hasher.finish() % FAILS_EVERY
    }
}

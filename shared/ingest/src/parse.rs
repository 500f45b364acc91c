//! Parse: the batch's frame. Payloads stay raw text, so that trouble inside one stays there.

use eventlane_contracts::wire::{Batch, FramingError};

use crate::event::{Event, State};

/// The events of a body, in the sender's order.
pub(crate) fn parse(body: &[u8]) -> Result<Vec<Event<'_>>, FramingError> {
    let batch = Batch::parse(body)?;
    Ok(batch.events.into_iter().map(|envelope| Event { envelope, state: State::Parsed }).collect())
}

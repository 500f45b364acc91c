//! The gate: the server's yes or no to a sound event. This one asks for consent.

use std::sync::Arc;

use async_trait::async_trait;
use eventlane_ingest::{Admission, AllOf, Claims, Gate, GateError, GatedEvent, JudgedBy};
use serde_json::Value;

/// The lane's gate: the token's own word first, then the consent store's where one is configured.
#[must_use]
pub fn gate(store: Option<Arc<dyn Gate>>) -> Arc<dyn Gate> {
    match store {
        None => Arc::new(ConsentGate),
        Some(store) => Arc::new(AllOf(vec![Arc::new(ConsentGate), store])),
    }
}

/// Refuses events of streams that the token's holder declined: the claim
/// `app_metadata.declined_streams`, a list of stream names.
#[derive(Debug, Clone, Copy, Default)]
pub struct ConsentGate;

#[async_trait]
impl Gate for ConsentGate {
    // Token and stream are all it looks at.
    fn judged_by(&self) -> JudgedBy {
        JudgedBy::Stream
    }

    async fn admit(&self, claims: &Claims, event: &GatedEvent<'_>) -> Result<Admission, GateError> {
        let declined = declined(claims).ok_or_else(|| {
            // Consent that can't be read is not consent, and not a refusal for good either.
            GateError("claim app_metadata.declined_streams is no list of names".to_owned())
        })?;
        if declined.contains(&event.stream.as_str()) {
            return Ok(Admission::Refused("its owner declined this stream".to_owned()));
        }
        Ok(Admission::Admitted)
    }
}

/// The streams the token's holder declined; nothing when the claim can't be read.
fn declined(claims: &Claims) -> Option<Vec<&str>> {
    let metadata = match claims.as_map().get("app_metadata") {
        None | Some(Value::Null) => return Some(Vec::new()),
        Some(metadata) => metadata.as_object()?,
    };
    match metadata.get("declined_streams") {
        None | Some(Value::Null) => Some(Vec::new()),
        Some(names) => names.as_array()?.iter().map(Value::as_str).collect(),
    }
}

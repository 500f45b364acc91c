//! The gate: the server's yes or no to a sound event. This one asks for consent.

use async_trait::async_trait;
use eventlane_ingest::{Admission, Claims, Gate, GateError, GatedEvent};
use serde_json::Value;

/// Refuses events of streams that the token's holder declined: the claim
/// `app_metadata.declined_streams`, a list of stream names.
#[derive(Debug, Clone, Copy, Default)]
pub struct ConsentGate;

#[async_trait]
impl Gate for ConsentGate {
    async fn admit(&self, claims: &Claims, event: &GatedEvent<'_>) -> Result<Admission, GateError> {
        let declined = claims.as_map().get("app_metadata").and_then(|data| data.get("declined_streams"));
        let refused = match declined {
            None | Some(Value::Null) => false,
            Some(Value::Array(names)) => names.iter().any(|name| name == event.stream.as_str()),
            // Consent that can't be read is not consent, and not a refusal for good either.
            Some(_) => return Err(GateError("claim app_metadata.declined_streams is no list".to_owned())),
        };
        if refused {
            return Ok(Admission::Refused("its owner declined this stream".to_owned()));
        }
        Ok(Admission::Admitted)
    }
}

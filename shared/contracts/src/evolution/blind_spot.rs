//! Where the schema of a typed stream says less than its type.
//!
//! schemars writes a schema from a type's shape. What hand-written deserialisation refuses
//! (`try_from`, a `Deserialize` of one's own, a validating newtype) is not in it, and so not in the
//! lock: a change of it is invisible. It can't be seen from outside whether a type has such code, but
//! it can be asked: payloads that the schema takes are run through the type, and one that it refuses
//! gives it away. That finds what common values find; a refusal of one rare value stays unseen.

use serde_json::Value;

use crate::judge;
use crate::payload::PayloadFault;
use crate::{Registry, Stream};

/// A typed stream that refuses a payload its schema takes.
#[derive(Debug, Clone, PartialEq)]
pub struct BlindSpot {
    /// The stream.
    pub stream: String,
    /// The payload; made up, never taken from anyone's data.
    pub example: Value,
    /// The revision it declares. Without one a change of the refusal goes unnoticed.
    pub revision: Option<u32>,
}

/// The typed streams whose schema says less than their type, as far as that can be found.
#[must_use]
pub fn blind_spots(registry: &Registry) -> Vec<BlindSpot> {
    registry.streams().filter(|stream| stream.is_typed()).filter_map(blind_spot).collect()
}

fn blind_spot(stream: &Stream) -> Option<BlindSpot> {
    let refuses =
        |payload: &Value| matches!(stream.check(&payload.to_string()), Err(PayloadFault::Invalid { .. }));
    let example = judge::refused_by(stream.schema(), refuses)?;
    Some(BlindSpot { stream: stream.name().to_string(), example, revision: stream.revision() })
}

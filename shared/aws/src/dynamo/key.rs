//! Archive keys: where an event is, from what it is.
//!
//! The partition is the stream and a shard of the event id, so that no stream is bound to one
//! partition's throughput. The sort key leads with the event id, so that a shard replays in time
//! order for ids of version 7; the identity's hash behind it keeps two people's events apart when
//! one guesses the other's id.

use std::fmt::Write as _;

use eventlane_contracts::{QueuedEvent, StreamName};
use sha2::{Digest, Sha256};

/// Partitions a stream is spread over: `00` to `15`.
const SHARDS: u8 = 16;

/// Bytes of the identity's hash in a sort key: 16 hex digits, enough to keep the events of one id
/// apart.
const IDENTITY_HASH_BYTES: usize = 8;

/// An event's whole key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    /// `<stream>#<shard>`.
    pub(super) partition: String,
    /// `<event id>#<identity hash>`.
    pub(super) sort: String,
}

impl Key {
    pub(super) fn of(stream: &StreamName, event: &QueuedEvent) -> Self {
        let shard = Sha256::digest(event.event_id.as_bytes())[0] % SHARDS;
        // A map of texts always has a canonical form.
        let identity = serde_json_canonicalizer::to_vec(&event.identity).unwrap_or_default();
        let mut sort = format!("{}#", event.event_id);
        for byte in &Sha256::digest(&identity)[..IDENTITY_HASH_BYTES] {
            // Writing to a `String` can't fail.
            let _ = write!(sort, "{byte:02x}");
        }
        Self { partition: partition(stream, shard), sort }
    }
}

/// The partitions of a stream.
pub(super) fn partitions(stream: &StreamName) -> impl Iterator<Item = String> {
    (0..SHARDS).map(move |shard| partition(stream, shard))
}

fn partition(stream: &StreamName, shard: u8) -> String {
    format!("{stream}#{shard:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_a_public_contract_and_stay_as_they_are() {
        let stream = StreamName::new("issue_viewed").unwrap();
        let event = |identity: &str| {
            let text = format!(
                r#"{{"eventId":"0199b6a0-0000-7000-8000-000000000001","occurredAtUs":"1","identity":{identity},"payload":1}}"#
            );
            serde_json::from_str::<QueuedEvent>(&text).unwrap()
        };
        let key = Key::of(&stream, &event(r#"{"userId":"u1"}"#));
        assert_eq!(key.partition, "issue_viewed#07");
        assert_eq!(key.sort, "0199b6a0-0000-7000-8000-000000000001#16d1619485669b35");
        let nobody = Key::of(&stream, &event("{}"));
        // The first bytes of the hash of `{}`.
        assert_eq!(nobody.sort, "0199b6a0-0000-7000-8000-000000000001#44136fa355b3678a");
        assert_eq!(nobody.partition, key.partition);
    }
}

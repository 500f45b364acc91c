//! Split: one stream's events, in append order, into messages within the queue's limit.

use std::ops::Range;

use eventlane_contracts::limits::MESSAGE_BODY_BYTES;
use eventlane_contracts::{StreamName, body_bytes};

/// Cuts events of these sizes into sub-batches: ranges that follow each other and cover all.
///
/// Each sub-batch's body fits [`MESSAGE_BODY_BYTES`]; only an event that doesn't fit by itself
/// stands alone above it, for the queue to refuse.
#[must_use]
pub fn split(stream: &StreamName, event_bytes: &[usize]) -> Vec<Range<usize>> {
    let frame = body_bytes(stream, []);
    let mut ranges = Vec::new();
    let (mut start, mut bytes) = (0, frame);
    for (index, &event) in event_bytes.iter().enumerate() {
        let comma = usize::from(index > start);
        if index > start && bytes + comma + event > MESSAGE_BODY_BYTES {
            ranges.push(start..index);
            (start, bytes) = (index, frame + event);
        } else {
            bytes += comma + event;
        }
    }
    if start < event_bytes.len() {
        ranges.push(start..event_bytes.len());
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_event_rides_once_in_order_and_every_message_fits(
            sizes in prop::collection::vec(1usize..200_000, 0..60)
        ) {
            let stream = StreamName::new("s").unwrap();
            let ranges = split(&stream, &sizes);
            let covered: Vec<usize> = ranges.iter().flat_map(Clone::clone).collect();
            prop_assert_eq!(covered, (0..sizes.len()).collect::<Vec<_>>());
            for (index, range) in ranges.iter().enumerate() {
                let bytes = body_bytes(&stream, sizes[range.clone()].iter().copied());
                prop_assert!(bytes <= MESSAGE_BODY_BYTES);
                if let Some(next) = ranges.get(index + 1) {
                    let with_next = body_bytes(&stream, sizes[range.start..next.start + 1].iter().copied());
                    prop_assert!(with_next > MESSAGE_BODY_BYTES, "cut before it was full");
                }
            }
        }
    }

    #[test]
    fn an_event_beyond_the_limit_stands_alone() {
        let stream = StreamName::new("s").unwrap();
        assert_eq!(split(&stream, &[1, MESSAGE_BODY_BYTES + 1, 1]), [0..1, 1..2, 2..3]);
    }
}

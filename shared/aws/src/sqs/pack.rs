//! Packing messages into calls: the limits hold for the whole call, over them all of it fails.

use std::ops::Range;

use eventlane_contracts::limits::{SQS_CALL_BYTES, SQS_CALL_ENTRIES};

/// Cuts messages of these sizes into calls: ranges that follow each other and cover all.
pub(super) fn pack(message_bytes: &[usize]) -> Vec<Range<usize>> {
    let mut calls = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (index, &message) in message_bytes.iter().enumerate() {
        if index > start && (index - start == SQS_CALL_ENTRIES || bytes + message > SQS_CALL_BYTES) {
            calls.push(start..index);
            (start, bytes) = (index, 0);
        }
        bytes += message;
    }
    if start < message_bytes.len() {
        calls.push(start..message_bytes.len());
    }
    calls
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_holds_ten_entries_and_one_mebibyte() {
        assert!(pack(&[]).is_empty());
        assert_eq!(pack(&[1; 21]), [0..10, 10..20, 20..21]);
        assert_eq!(pack(&[614_400, 614_400]), [0..1, 1..2]);
        assert_eq!(pack(&[524_288, 524_288, 1]), [0..2, 2..3]);
        assert_eq!(pack(&[SQS_CALL_BYTES, 1, SQS_CALL_BYTES]), [0..1, 1..2, 2..3]);
    }
}

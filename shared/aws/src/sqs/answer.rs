//! What a batch call's answer says of each entry. Status 200 says nothing: entries can fail in it.

use aws_sdk_sqs::types::BatchResultErrorEntry;

use super::classify::{Fault, Kind};

/// The id of the entry at this position of its call.
pub(super) fn entry_id(position: usize) -> String {
    position.to_string()
}

/// One outcome an entry, in order: `Ok` only for what is listed as successful, and not as failed.
pub(super) fn outcomes<'a>(
    entries: usize,
    successful: impl Iterator<Item = &'a str>,
    failed: &[BatchResultErrorEntry],
) -> Vec<Result<(), Fault>> {
    let mut outcomes = vec![Err(Fault::new(Kind::Missing, "not listed")); entries];
    let position = |id: &str| id.parse::<usize>().ok().filter(|&at| at < entries);
    for at in successful.filter_map(position) {
        outcomes[at] = Ok(());
    }
    for (at, entry) in failed.iter().filter_map(|entry| Some((position(&entry.id)?, entry))) {
        outcomes[at] = Err(Fault::of_entry(entry));
    }
    outcomes
}

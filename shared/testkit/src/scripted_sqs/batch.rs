//! Batch calls: what refuses them whole, and the two lists they are answered with.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::error::SqsError;
use super::fault::{Fault, Which};
use super::message;
use super::record::Entry;

/// Entries of a batch call. Source: SQS quotas.
const MAXIMUM_ENTRIES: usize = 10;

/// What SQS would refuse the whole call for.
pub(super) fn check(entries: &[Entry]) -> Result<(), SqsError> {
    let count = entries.len();
    if count == 0 {
        let message = "There should be at least one entry in the request.";
        return Err(SqsError::sender("EmptyBatchRequest", message));
    }
    if count > MAXIMUM_ENTRIES {
        let message = format!("Maximum number of entries per request are 10. You have sent {count}.");
        return Err(SqsError::sender("TooManyEntriesInBatchRequest", message));
    }
    if !entries.iter().all(|entry| is_id(&entry.id)) {
        let message = "A batch entry id can only contain alphanumeric characters, hyphens and underscores. \
                       It can be at most 80 letters long.";
        return Err(SqsError::sender("InvalidBatchEntryId", message));
    }
    let distinct: BTreeSet<&str> = entries.iter().map(|entry| entry.id.as_str()).collect();
    if distinct.len() < count {
        return Err(SqsError::sender(
            "BatchEntryIdsNotDistinct",
            "Two or more batch entries have the same Id.",
        ));
    }
    let bytes: usize = entries.iter().map(message::bytes).sum();
    if bytes > message::MAXIMUM_BYTES {
        let limit = message::MAXIMUM_BYTES;
        let message =
            format!("Batch requests cannot be longer than {limit} bytes. You have sent {bytes} bytes.");
        return Err(SqsError::sender("BatchRequestTooLong", message));
    }
    Ok(())
}

fn is_id(id: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    (1..=80).contains(&id.len()) && id.bytes().all(allowed)
}

/// Runs each entry that the fault spares, and lists how it went.
pub(super) fn run(
    entries: &[Entry],
    fault: Option<&Fault>,
    mut each: impl FnMut(usize, &Entry) -> Result<Map<String, Value>, SqsError>,
) -> Value {
    let (mut successful, mut failed) = (Vec::new(), Vec::new());
    for (place, entry) in entries.iter().enumerate() {
        let meant = |which: &Which| which.is(place, &entry.body);
        let outcome = match fault {
            Some(Fault::OmitEntries(which)) if meant(which) => continue,
            Some(fault @ Fault::FailEntries { which, .. }) if meant(which) => {
                fault.as_error().map_or_else(|| Ok(Map::new()), Err)
            }
            _ => each(place, entry),
        };
        match outcome {
            Ok(mut done) => {
                done.insert("Id".to_owned(), entry.id.clone().into());
                successful.push(Value::Object(done));
            }
            Err(SqsError { code, message, sender_fault, .. }) => failed.push(json!({
                "Id": entry.id, "SenderFault": sender_fault, "Code": code, "Message": message
            })),
        }
    }
    json!({"Successful": successful, "Failed": failed})
}

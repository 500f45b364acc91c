//! What travels beside a copied body: as much as fits, since a copy that doesn't fit would fail for
//! ever.

use eventlane_contracts::limits::MESSAGE_BYTES;
use eventlane_contracts::text::cut;
use eventlane_queue::Attributes;

/// One attribute as SQS carries it: name, type and value.
pub(super) type Carried = (&'static str, &'static str, String);

/// The attributes that are there.
pub(super) fn carried(attributes: &Attributes) -> Vec<Carried> {
    attributes.to_list().into_iter().map(|one| (one.name, one.kind, one.value)).collect()
}

/// Attributes in the order in which a full message gives them up.
const EXPENDABLE: [&str; 7] =
    ["traceparent", "parent", "reason", "first_received_us", "dead_lettered_us", "attempts", "v"];

/// The attributes that fit beside a body of this size: the reason is cut first, then whole
/// attributes go. A message that was enqueued by this lane keeps all of them.
pub(super) fn fitted(body_bytes: usize, mut attributes: Attributes) -> Vec<Carried> {
    let over = (body_bytes + attributes.bytes()).saturating_sub(MESSAGE_BYTES);
    if let Some(reason) = attributes.reason.as_mut().filter(|_| over > 0) {
        let kept = cut(reason, reason.len().saturating_sub(over)).len();
        reason.truncate(kept);
    }
    // An emptied reason is not in the list.
    let mut list = carried(&attributes);
    for name in EXPENDABLE {
        if body_bytes + bytes(&list) <= MESSAGE_BYTES {
            break;
        }
        list.retain(|(there, ..)| *there != name);
    }
    list
}

fn bytes(list: &[Carried]) -> usize {
    list.iter().map(|(name, kind, value)| name.len() + kind.len() + value.len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn story() -> Attributes {
        Attributes {
            traceparent: Some("t".repeat(55)),
            attempts: Some(5),
            first_received_us: Some(1),
            dead_lettered_us: Some(2),
            reason: Some("é".repeat(512)),
            ..Attributes::default()
        }
    }

    #[test]
    fn the_reason_is_cut_on_a_character_before_anything_goes() {
        let room = MESSAGE_BYTES - story().bytes();
        assert_eq!(fitted(room, story()), carried(&story()));
        let list = fitted(room + 101, story());
        let reason = list.iter().find(|(name, ..)| *name == "reason").unwrap();
        assert_eq!(reason.2, "é".repeat(512 - 51));
        assert_eq!(list.len(), carried(&story()).len());
    }

    #[test]
    fn a_full_body_still_has_a_copy() {
        for free in 0..400 {
            let body = MESSAGE_BYTES - free;
            assert!(body + bytes(&fitted(body, story())) <= MESSAGE_BYTES, "{free}");
        }
        assert_eq!(fitted(MESSAGE_BYTES, story()), Vec::<Carried>::new());
        let list = fitted(MESSAGE_BYTES - 24, story());
        let names: Vec<_> = list.iter().map(|(name, ..)| *name).collect();
        assert_eq!(names, ["v", "attempts"]);
    }
}

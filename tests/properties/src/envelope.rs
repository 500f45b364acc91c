//! Any bytes inside one event, between two sound neighbours.

use eventlane_contracts::wire::Status;
use eventlane_testkit::envelopes::{Event, event_id, verdicts};

use crate::body::holds;
use crate::door;

/// Whatever is put into one event, its neighbours are acked, unless the batch as a whole is no batch.
///
/// The first byte chooses the place: the whole envelope, its payload, or one of its three texts.
pub fn envelope(input: &[u8]) {
    let Some((place, bytes)) = input.split_first() else { return };
    let texts = String::from_utf8_lossy(bytes);
    let middle: Vec<u8> = match place % 5 {
        0 => bytes.to_vec(),
        1 => {
            let before = format!(
                r#"{{"stream":"any_thing","eventId":"{}","occurredAtUs":"1","payload":"#,
                event_id(2)
            );
            [before.as_bytes(), bytes, b"}"].concat()
        }
        2 => Event::new(2, &texts, "1").envelope().into_bytes(),
        3 => Event::new(2, "any_thing", "1").event_id(&texts).envelope().into_bytes(),
        _ => Event::new(2, "any_thing", "1").occurred_at_us(&texts).envelope().into_bytes(),
    };
    let [first, last] = [1, 3].map(|n| Event::new(n, "any_thing", n.to_string()).envelope());
    let body = [b"{\"events\":[", first.as_bytes(), b",", &middle, b",", last.as_bytes(), b"]}"].concat();
    let answered = door::with(|door| door.post(door::head(&door::sound_token()), &body));
    assert!(matches!(answered.status, 200 | 400 | 413), "status {}", answered.status);
    if answered.status == 200 {
        holds(&body, &answered);
        let verdicts = verdicts(&answered.body);
        for neighbour in [verdicts.first(), verdicts.last()] {
            assert_eq!(neighbour.expect("verdicts").1, Status::Acked, "a neighbour pays for it");
        }
    } else {
        // What is a text in its place can't be blamed on the frame, but for what the frame asks of it.
        let payload_is_json =
            place % 5 == 1 && serde_json::from_slice::<&serde_json::value::RawValue>(bytes).is_ok();
        assert!(!payload_is_json, "a payload that is JSON is one event's trouble at most: {}", answered.body);
    }
}

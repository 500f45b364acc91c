//! Any bytes as a token.

use axum::http::HeaderMap;
use axum::http::header::{AUTHORIZATION, HeaderValue};
use eventlane_testkit::envelopes::{Event, batch};

use crate::door;
use crate::seeds::sound_tokens;

/// Bytes of a token that a message may have in common with it by chance.
const BY_CHANCE: usize = 12;

/// Nothing but a token that a key signed lets anyone in, and no answer quotes what was tried.
///
/// The bytes are tried as a token and as the whole header, and by every parser behind it: as a token's
/// header, as its claims, as a key set.
pub fn token(input: &[u8]) {
    eventlane_ingest::fuzz::token(input);
    for value in [[b"Bearer ", input].concat(), input.to_vec()] {
        // Such bytes don't reach a server.
        let Ok(header) = HeaderValue::from_bytes(&value) else { continue };
        let headers = HeaderMap::from_iter([(AUTHORIZATION, header)]);
        let body = batch(&[Event::new(1, "any_thing", "1")]);
        let answered = door::with(|door| door.post(headers, body.as_bytes()));
        match answered.status {
            200 => {
                let text = String::from_utf8_lossy(&value).trim().to_owned();
                assert!(
                    sound_tokens().iter().any(|token| text.ends_with(token.as_str())),
                    "a stranger was let in"
                );
            }
            401 => assert!(!quotes(&answered.body, &value), "an answer quotes a token: {}", answered.body),
            other => panic!("status {other}"),
        }
    }
}

fn quotes(answer: &str, value: &[u8]) -> bool {
    let own = "Authorization: Bearer TOKEN";
    let answer = answer.replace(own, "");
    value.windows(BY_CHANCE).any(|piece| std::str::from_utf8(piece).is_ok_and(|piece| answer.contains(piece)))
}

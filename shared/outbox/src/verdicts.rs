//! What an answer says of the rows it was asked about. Strict: only an explicit, uncontradicted
//! verdict counts.

use std::collections::HashMap;

use eventlane_contracts::limits::REASON_BYTES;
use eventlane_contracts::text::cut;
use eventlane_contracts::wire::Status;
use serde::Deserialize;
use serde_json::value::RawValue;

/// One row's verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) status: Status,
    pub(crate) reason: Option<String>,
}

/// The verdicts of an answer by event id.
#[derive(Debug, Default)]
pub(crate) struct Verdicts(HashMap<String, Option<Verdict>>);

#[derive(Deserialize)]
struct RawAnswer<'a> {
    #[serde(borrow)]
    acks: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawAck {
    event_id: String,
    /// Of whatever kind: an ack that can't be read speaks against one that can.
    #[serde(default)]
    status: serde_json::Value,
    #[serde(default)]
    reason: serde_json::Value,
}

impl Verdicts {
    /// Reads the body of a 200. `None`: not the contract (a portal's page, an empty object).
    pub(crate) fn parse(body: &[u8]) -> Option<Self> {
        let answer: RawAnswer<'_> = serde_json::from_str(std::str::from_utf8(body).ok()?).ok()?;
        let mut verdicts = Self::default();
        for ack in answer.acks {
            // One verdict that nobody can read says nothing of the others.
            let Ok(ack) = serde_json::from_str::<RawAck>(ack.get()) else { continue };
            let reason = ack.reason.as_str().map(|reason| cut(reason, REASON_BYTES).to_owned());
            let status = Status::deserialize(ack.status).ok();
            let verdict = status.map(|status| Verdict { status, reason });
            verdicts
                .0
                .entry(ack.event_id)
                .and_modify(|known| {
                    // Two verdicts that disagree leave none.
                    if known.as_ref().map(|known| known.status) != status {
                        *known = None;
                    }
                })
                .or_insert(verdict);
        }
        Some(verdicts)
    }

    /// The verdict on one event, if there is a usable one.
    pub(crate) fn of(&self, event_id: &str) -> Option<&Verdict> {
        self.0.get(event_id)?.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_the_contract_is_no_answer() {
        for body in ["", "<html></html>", "{}", "[]", "null", "{\"acks\":{}}", "{\"acks\":null}", "\u{0}"] {
            assert!(Verdicts::parse(body.as_bytes()).is_none(), "{body:?}");
        }
        assert!(Verdicts::parse(b"{\"acks\":[\xff]}").is_none());
        assert!(Verdicts::parse(b"{\"acks\":[]}").is_some());
    }

    #[test]
    fn contradictions_and_unreadable_verdicts_count_for_nothing() {
        let body = br#"{"acks":[
            {"eventId":"a","status":"acked"},
            {"eventId":"b","status":"acked"}, {"eventId":"b","status":"rejected","reason":"r"},
            {"eventId":"b","status":"acked"},
            {"eventId":"c","status":"perhaps"}, {"status":"acked"}, 7, null,
            {"eventId":"d","status":"deferred","reason":"later","more":1},
            {"eventId":"e","status":"acked"}, {"eventId":"e","status":"acked"},
            {"eventId":"f","status":"acked"}, {"eventId":"f","status":"perhaps"},
            {"eventId":"g","status":null}, {"eventId":"g","status":"acked"},
            {"eventId":"h","status":"acked","reason":7}
        ]}"#;
        let verdicts = Verdicts::parse(body).unwrap();
        let status = |id: &str| verdicts.of(id).map(|verdict| verdict.status);
        assert_eq!(status("a"), Some(Status::Acked));
        assert_eq!(status("b"), None);
        assert_eq!(status("c"), None);
        assert_eq!(status("d"), Some(Status::Deferred));
        assert_eq!(status("e"), Some(Status::Acked));
        assert_eq!((status("f"), status("g")), (None, None), "a word nobody knows contradicts too");
        assert_eq!(status("h"), Some(Status::Acked));
        assert_eq!(status("A"), None, "ids are compared byte for byte");
        assert_eq!(verdicts.of("d").unwrap().reason.as_deref(), Some("later"));
    }

    #[test]
    fn reasons_are_cut_on_a_character_boundary() {
        let body =
            format!(r#"{{"acks":[{{"eventId":"a","status":"refused","reason":"{}"}}]}}"#, "é".repeat(999));
        let verdicts = Verdicts::parse(body.as_bytes()).unwrap();
        assert_eq!(verdicts.of("a").unwrap().reason.as_deref().map(str::len), Some(REASON_BYTES));
    }
}

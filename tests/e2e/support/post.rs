//! Posting a batch by hand.

use eventlane_testkit::envelopes::{Event, batch};
use serde_json::Value;

use super::{Lane, token};

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) retry_after: Option<String>,
    pub(crate) body: Value,
}

impl Answer {
    /// `status` or `status: reason` of each verdict.
    pub(crate) fn verdicts(&self) -> Vec<String> {
        let acks = self.body["acks"].as_array().unwrap_or_else(|| panic!("no verdicts: {}", self.body));
        let verdict = |ack: &Value| match ack["reason"].as_str() {
            Some(reason) => format!("{}: {reason}", ack["status"].as_str().unwrap()),
            None => ack["status"].as_str().unwrap().to_owned(),
        };
        acks.iter().map(verdict).collect()
    }
}

/// Posts events over real HTTP.
pub(crate) fn post(lane: &dyn Lane, events: &[Event]) -> Answer {
    let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
    let mut response = agent
        .post(lane.url())
        .header("authorization", format!("Bearer {}", token(lane)))
        .header("content-type", "application/json")
        .send(batch(events))
        .unwrap();
    let retry_after = response.headers().get("retry-after").map(|value| value.to_str().unwrap().to_owned());
    let text = response.body_mut().read_to_string().unwrap();
    Answer { status: response.status().as_u16(), retry_after, body: serde_json::from_str(&text).unwrap() }
}

//! The captured request of the lane's first client, over real HTTP.

use serde_json::Value;

use crate::support::embedded::Embedded;
use crate::support::{Lane, fixture, token};

#[test]
fn the_first_client_is_answered_as_its_own_server_answered() {
    let folder = tempfile::tempdir().unwrap();
    let lane = Embedded::start(folder.path(), &[]);
    let text = std::fs::read_to_string(fixture("wire/request-from-the-seeds-client.json")).unwrap();
    let captured: Value = serde_json::from_str(&text).unwrap();
    let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
    let mut request = agent.post(lane.url());
    for (name, value) in captured["headers"].as_object().unwrap() {
        let value = value.as_str().unwrap();
        request = match name.as_str() {
            "content-length" => request,
            "authorization" => request.header(name, format!("Bearer {}", token(&lane))),
            _ => request.header(name, value),
        };
    }
    let body = captured["body"].as_str().unwrap();
    let mut response = request.send(body).unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "application/json;charset=utf-8");
    let answer: Value = serde_json::from_str(&response.body_mut().read_to_string().unwrap()).unwrap();
    let acks: Vec<(&str, &str)> = answer["acks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|ack| (ack["eventId"].as_str().unwrap(), ack["status"].as_str().unwrap()))
        .collect();
    assert_eq!(
        acks,
        [
            ("c453c8bc-c438-4f6e-b545-186fed8003a1", "acked"),
            ("efe11ae0-5b0e-42c8-a851-75ca9b675aa9", "acked"),
            ("3f198437-eff0-437c-a383-23803e42fb10", "acked"),
            ("fbdc4c09-d949-4cf7-add0-cbeda23e1e03", "deferred"),
        ]
    );
    assert_eq!(lane.archived().len(), 3);
}

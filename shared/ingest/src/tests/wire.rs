//! Compatibility: a client of the lane's first server is answered as that server answered.

use super::*;

/// What that server's gate said no to, by event id.
struct Choosy;

#[async_trait]
impl Gate for Choosy {
    async fn admit(&self, _: &Claims, event: &GatedEvent<'_>) -> Result<Admission, GateError> {
        Ok(match event.event_id {
            "ffffffff-ffff-4fff-8fff-ffffffffffff" => Admission::Refused("not with us".into()),
            _ => Admission::Admitted,
        })
    }
}

fn fixture(name: &str) -> Value {
    let path = format!("{}/../../tests/fixtures/wire/{name}", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// The captures leave out what can be told in words.
fn body(case: &Value) -> String {
    match case.as_str() {
        Some("1001 events") => batch(&(0..1001).map(|n| Event::new(n, "any_thing", "1")).collect::<Vec<_>>()),
        Some(text) => text.to_owned(),
        None => case.to_string().replace("y repeated 70000 times", &"y".repeat(70_000)),
    }
}

/// The answer without the texts, which are each server's own.
fn without_texts(mut answer: Value) -> Value {
    for ack in answer.get_mut("acks").and_then(Value::as_array_mut).into_iter().flatten() {
        if ack.get("reason").is_some_and(Value::is_string) {
            ack["reason"] = json!("(text)");
        }
    }
    if answer.get("message").is_some_and(Value::is_string) {
        answer["message"] = json!("(text)");
    }
    answer
}

#[tokio::test]
async fn every_captured_answer_is_given_again() {
    let captured = fixture("answers-of-the-seeds-server.json");
    let cases = captured["answers"].as_array().unwrap();
    assert_eq!(cases.len(), 12);
    for case in cases {
        let name = case["name"].as_str().unwrap();
        let mut queues = Queues::default();
        if name == "queue down" {
            queues.faults.insert("issue_viewed", EnqueueError::Unavailable("down".into()));
        }
        let door = door_with(queues, Arc::new(Choosy), registry());
        let mut request = request(body(&case["request"]));
        if case["auth"] == false {
            request.headers_mut().remove("authorization");
        }
        let answered = door.ask(request).await;
        assert_eq!(answered.status, case["status"], "{name}");
        assert_eq!(without_texts(answered.body), case["body"], "{name}");
        for (header, value) in case["headers"].as_object().unwrap() {
            assert_eq!(answered.headers[header], value.as_str().unwrap(), "{name}: {header}");
        }
        if name == "every verdict in one batch" {
            let message: Value = serde_json::from_str(&door.queues.messages()[0].body).unwrap();
            assert_eq!(message, captured["first_queue_message"], "what is queued is the same too");
        }
    }
}

#[tokio::test]
async fn the_captured_request_of_the_first_client_is_understood() {
    let captured = fixture("request-from-the-seeds-client.json");
    let mut builder = Request::builder()
        .method(captured["method"].as_str().unwrap())
        .uri(captured["path"].as_str().unwrap());
    for (name, value) in captured["headers"].as_object().unwrap() {
        let value = value.as_str().unwrap().replace("dev-token", &token());
        builder = builder.header(name, value);
    }
    let body = captured["body"].as_str().unwrap().to_owned();
    let answered = door().ask(builder.body(body.into()).unwrap()).await;
    assert_eq!(answered.status, 200);
    let verdicts = answered.verdicts();
    assert_eq!(verdicts[..3], ["acked", "acked", "acked"]);
    assert!(verdicts[3].starts_with("deferred: "), "{verdicts:?}");
    let ids: Vec<&str> = answered.body["acks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|ack| ack["eventId"].as_str().unwrap())
        .collect();
    let sent: Value = serde_json::from_str(captured["body"].as_str().unwrap()).unwrap();
    let sent: Vec<&str> =
        sent["events"].as_array().unwrap().iter().map(|event| event["eventId"].as_str().unwrap()).collect();
    assert_eq!(ids, sent);
}

//! From a request to its answer.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{ConnectInfo, State as Extract};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use futures::stream::{self, StreamExt as _};
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::action::Action;
use super::error::SqsError;
use super::fault::Fault;
use super::queue::{Receive, range};
use super::record::{self, Call, Entry};
use super::state::{Shared, State};
use super::{ACCOUNT, LongPolls, batch};
use crate::server::Connection;

/// Seconds a received message stays invisible when the call doesn't say.
const VISIBILITY: i64 = 30;

/// The one handler: SQS has one path and names the action in a header.
pub(super) async fn answer(
    Extract(shared): Extract<Arc<Shared>>,
    ConnectInfo(connection): ConnectInfo<Connection>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    if let Some(died) = shared.dies(&connection) {
        died.count();
        connection.reset();
        return StatusCode::OK.into_response();
    }
    let (call, origin) = match read(&headers, &body) {
        Ok(read) => read,
        Err(error) => return error.into_response(),
    };
    let call = admit(&shared, call);
    if let Some(error) = call.fault.as_ref().and_then(|fault| whole_error(call.action, fault)) {
        return error.into_response();
    }
    match &call.fault {
        Some(Fault::Status(status)) => {
            return StatusCode::from_u16(*status)
                .unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
                .into_response();
        }
        Some(Fault::Hang) => std::future::pending().await,
        Some(Fault::Reset) => {
            connection.reset();
            return StatusCode::OK.into_response();
        }
        Some(Fault::LoseAnswer) => connection.reset(),
        Some(Fault::Error { .. } | Fault::FailEntries { .. } | Fault::OmitEntries(_) | Fault::Pause)
        | None => {}
    }
    match perform(&shared, &call, &origin).await {
        Ok(value) => {
            let text = value.to_string();
            let body = if call.fault == Some(Fault::Pause) { paused(shared, text) } else { text.into() };
            ([("content-type", "application/x-amz-json-1.0")], body).into_response()
        }
        Err(error) => error.into_response(),
    }
}

/// Half of the text, and the other half when the script is healed.
fn paused(shared: Arc<Shared>, text: String) -> Body {
    let text = Bytes::from(text);
    let half = text.slice(..text.len() / 2);
    let rest = async move {
        shared.healed().await;
        text.slice(text.len() / 2..)
    };
    Body::from_stream(stream::once(ready(half)).chain(stream::once(rest)).map(Ok::<_, Infallible>))
}

/// The request as a call, and the origin that queues' URLs stand under.
fn read(headers: &HeaderMap, body: &[u8]) -> Result<(Call, String), SqsError> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let target = header("x-amz-target");
    let action = Action::of_target(target)
        .ok_or_else(|| SqsError::sender("UnknownOperationException", format!("no action {target:?} here")))?;
    let request: Value = serde_json::from_slice(body)
        .map_err(|error| SqsError::sender("SerializationException", error.to_string()))?;
    let named = request[if action == Action::GetQueueUrl { "QueueName" } else { "QueueUrl" }].as_str();
    let queue = named.unwrap_or_default().rsplit('/').next().unwrap_or_default().to_owned();
    let entries = record::entries(action, &request);
    let call = Call { action, queue, entries, request, at_us: 0, fault: None };
    Ok((call, format!("http://{}", header("host"))))
}

/// Gives a call its time and its fault, and writes it down.
fn admit(shared: &Shared, call: Call) -> Call {
    let mut state = shared.state();
    let fault = state.script.take(&call.queue, call.action);
    let call = Call { at_us: shared.clock.now_us(), fault, ..call };
    shared.record(&mut state, call.clone());
    call
}

/// The error of the whole call, where the fault is one.
fn whole_error(action: Action, fault: &Fault) -> Option<SqsError> {
    match fault {
        Fault::FailEntries { .. } if is_batch(action) => None,
        fault => fault.as_error(),
    }
}

fn is_batch(action: Action) -> bool {
    matches!(
        action,
        Action::SendMessageBatch | Action::DeleteMessageBatch | Action::ChangeMessageVisibilityBatch
    )
}

async fn perform(shared: &Shared, call: &Call, origin: &str) -> Result<Value, SqsError> {
    if !shared.state().queues.contains_key(&call.queue) {
        return Err(SqsError::no_queue());
    }
    match call.action {
        Action::SendMessage | Action::SendMessageBatch => {
            let answer = send(&mut shared.state(), call, shared.clock.now_us());
            shared.changed();
            answer
        }
        Action::ReceiveMessage => receive(shared, call).await,
        Action::DeleteMessage | Action::DeleteMessageBatch => {
            settle(&mut shared.state(), call, |state, entry| state.queue(&call.queue).delete(&entry.receipt))
        }
        Action::ChangeMessageVisibility | Action::ChangeMessageVisibilityBatch => {
            let now_us = shared.clock.now_us();
            let answer = settle(&mut shared.state(), call, |state, entry| {
                let seconds = entry.visibility_seconds.unwrap_or(VISIBILITY);
                state.queue(&call.queue).change_visibility(&entry.receipt, seconds, now_us)
            });
            shared.changed();
            answer
        }
        Action::GetQueueAttributes => Ok(attributes(&mut shared.state(), call, shared.clock.now_us())),
        Action::GetQueueUrl => Ok(json!({"QueueUrl": format!("{origin}/{ACCOUNT}/{}", call.queue)})),
    }
}

fn send(state: &mut State, call: &Call, now_us: i64) -> Result<Value, SqsError> {
    let queue = state.queue(&call.queue);
    if call.action == Action::SendMessage {
        let entry = call.entries.first().cloned().unwrap_or_default();
        let id = queue.send(&entry, call.number("DelaySeconds").unwrap_or(0), now_us)?;
        return Ok(json!({"MessageId": id}));
    }
    batch::check(&call.entries)?;
    Ok(batch::run(&call.entries, call.fault.as_ref(), |place, entry| {
        let delay = call.request["Entries"][place]["DelaySeconds"].as_i64().unwrap_or(0);
        let id = queue.send(entry, delay, now_us)?;
        Ok(Map::from_iter([("MessageId".to_owned(), id.into())]))
    }))
}

/// Deletes and changes of visibility, one or many.
fn settle(
    state: &mut State,
    call: &Call,
    mut each: impl FnMut(&mut State, &Entry) -> Result<(), SqsError>,
) -> Result<Value, SqsError> {
    if !is_batch(call.action) {
        let entry = call.entries.first().cloned().unwrap_or_default();
        return each(state, &entry).map(|()| json!({}));
    }
    batch::check(&call.entries)?;
    Ok(batch::run(&call.entries, call.fault.as_ref(), |_, entry| each(state, entry).map(|()| Map::new())))
}

async fn receive(shared: &Shared, call: &Call) -> Result<Value, SqsError> {
    let wait = call.number("WaitTimeSeconds").unwrap_or(0);
    let request = receive_request(call, wait)?;
    let deadline = Instant::now() + Duration::from_secs(wait.unsigned_abs());
    loop {
        // Listen first, look second: a message that arrives in between is not missed.
        let change = shared.next_change();
        let (messages, long_polls) = {
            let mut state = shared.state();
            let messages = state.queue(&call.queue).receive(&request, shared.clock.now_us())?;
            (messages, state.long_polls)
        };
        let over = long_polls == LongPolls::Instant || Instant::now() >= deadline;
        if !messages.is_empty() {
            return Ok(json!({"Messages": messages}));
        }
        if over {
            return Ok(json!({}));
        }
        // Whether a message or the end of the wait came first, the next round looks.
        let _ = tokio::time::timeout_at(deadline, change).await;
    }
}

fn receive_request(call: &Call, wait: i64) -> Result<Receive, SqsError> {
    let max = call.number("MaxNumberOfMessages").unwrap_or(1);
    let visibility_seconds = call.number("VisibilityTimeout").unwrap_or(VISIBILITY);
    for (name, value, least, most) in [
        ("MaxNumberOfMessages", max, 1, 10),
        ("VisibilityTimeout", visibility_seconds, 0, 43_200),
        ("WaitTimeSeconds", wait, 0, 20),
    ] {
        if !(least..=most).contains(&value) {
            return Err(range(name, value, &format!("between {least} and {most}")));
        }
    }
    let names = |list: &str| -> BTreeSet<String> {
        let list = call.request[list].as_array().map(Vec::as_slice).unwrap_or_default();
        list.iter().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let mut system_attributes = names("MessageSystemAttributeNames");
    system_attributes.extend(names("AttributeNames"));
    Ok(Receive {
        max: usize::try_from(max).unwrap_or(1),
        visibility_seconds,
        system_attributes,
        attributes: names("MessageAttributeNames"),
    })
}

fn attributes(state: &mut State, call: &Call, now_us: i64) -> Value {
    let [visible, delayed, in_flight] = state.queue(&call.queue).counts(now_us);
    let known = [
        ("ApproximateNumberOfMessages", visible.to_string()),
        ("ApproximateNumberOfMessagesDelayed", delayed.to_string()),
        ("ApproximateNumberOfMessagesNotVisible", in_flight.to_string()),
        ("QueueArn", format!("arn:aws:sqs:us-east-1:{ACCOUNT}:{}", call.queue)),
        ("VisibilityTimeout", VISIBILITY.to_string()),
    ];
    let asked = |name: &str| {
        let names = call.request["AttributeNames"].as_array().map(Vec::as_slice).unwrap_or_default();
        names.iter().any(|asked| asked == "All" || asked == name)
    };
    let shown = known.into_iter().filter(|(name, _)| asked(name));
    json!({"Attributes": shown.map(|(name, value)| (name.to_owned(), value.into())).collect::<Map<_, Value>>()})
}

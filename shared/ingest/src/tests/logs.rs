//! What is logged: one line a request, under its id and its trace, and nothing that a sender wrote.

use std::io;
use std::sync::PoisonError;

use tracing::Level;
use tracing::subscriber::DefaultGuard;
use tracing_subscriber::fmt::MakeWriter;

use super::*;
use crate::RequestContext;

/// Lines of every level and every crate, for as long as it lives and on this thread.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Lines {
    fn capture() -> (Self, DefaultGuard) {
        let lines = Self::default();
        let subscriber =
            tracing_subscriber::fmt().json().with_max_level(Level::TRACE).with_writer(lines.clone());
        let guard = tracing::subscriber::set_default(subscriber.finish());
        (lines, guard)
    }

    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()).unwrap()
    }

    /// The lines of this level, as they are read again.
    fn of(&self, level: &str) -> Vec<Value> {
        let lines = self.text();
        let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.filter(|line| line["level"] == level).collect()
    }
}

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[tokio::test]
async fn a_request_is_one_line_with_its_counts_under_its_id_and_trace() {
    let door = door();
    let mut asked = request(batch(&[Event::new(1, "any_thing", "1"), Event::new(2, "nobodys", "1")]));
    let sound = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    asked.headers_mut().insert("traceparent", sound.parse().unwrap());
    asked.extensions_mut().insert(RequestContext { request_id: "request-1".into(), answer_by: None });
    let (lines, _guard) = Lines::capture();
    door.ask(asked).await;
    let told = lines.of("INFO");
    assert_eq!(told.len(), 1, "{}", lines.text());
    let fields = &told[0]["fields"];
    for (name, value) in [("status", 200), ("acked", 1), ("deferred", 1), ("refused", 0), ("rejected", 0)] {
        assert_eq!(fields[name], value, "{name}");
    }
    assert!(fields["bytes"].is_u64() && fields["ms"].is_u64() && fields["enqueue_ms"].is_u64());
    assert!(fields.get("fault").is_none());
    let span = &told[0]["span"];
    assert_eq!((&span["id"], &span["trace"]), (&json!("request-1"), &json!(&sound[3..35])));
}

#[tokio::test]
async fn no_line_of_any_level_holds_a_payload_a_token_or_a_claim() {
    const CANARY: &str = "s3cret";
    let faults = [("other", EnqueueError::Queue("missing".into()))];
    let queues = Queues { faults: faults.into(), ..Queues::default() };
    let door = door_with(queues, Arc::new(Quoting), registry());
    let secret_token = hs256(&json!({
        "sub": "s3cret-sub", "app_metadata": {"person_id": ["s3cret-claim"]}, "exp": FAR_EXPIRY
    }));
    let (lines, _guard) = Lines::capture();
    let events = [
        Event::new(1, "any_thing", r#"{"s3cret-key":"s3cret-value"}"#),
        Event::new(2, "any_thing", r#"{"s3cret":1,"s3cret":1}"#),
        Event::new(3, "any_thing", r#"{"s3cret":1e999}"#),
        Event::new(4, "fragile", r#"{"s3cret":"x"}"#),
        Event::new(5, "fragile", r#"{"n":13}"#),
        Event::new(6, "s3cret_stream", r#""s3cret""#),
        Event::new(7, "needs_person", r#"{"a":"s3cret"}"#),
        Event::new(8, "other", r#""s3cret""#),
        Event::new(9, "issue_viewed", r#"{"issueId":"s3cret"}"#),
        Event::new(10, "any_thing", r#""s3cret gate panics""#),
    ];
    let bodies = [batch(&events), "{\"s3cret\":".to_owned(), r#"{"events":["s3cret"]}"#.to_owned()];
    let mut asked = 0;
    for body in &bodies {
        for authorization in
            [format!("Bearer {secret_token}"), format!("Bearer {secret_token}s3cret"), "s3cret".into()]
        {
            let mut request = request(body.clone());
            let headers = request.headers_mut();
            headers.insert("authorization", authorization.parse().unwrap());
            for name in ["traceparent", "x-amzn-trace-id", "x-request-id", "user-agent", "x-s3cret"] {
                headers.insert(name, "s3cret".parse().unwrap());
            }
            door.ask(request).await;
            asked += 1;
        }
    }
    for uri in ["/s3cret", "/api/events?s3cret=s3cret"] {
        door.ask(Request::put(uri).body("s3cret".into()).unwrap()).await;
        asked += 1;
    }
    let text = lines.text();
    assert_eq!(lines.of("INFO").len(), asked, "a line each: {text}");
    assert!(!lines.of("WARN").is_empty(), "the gate's and the queue's trouble was told");
    let signature = secret_token.rsplit('.').next().unwrap();
    for hidden in [CANARY, signature, &secret_token[..40]] {
        let at = text.find(hidden);
        assert_eq!(at, None, "{}", &text[at.unwrap_or(0).saturating_sub(400)..]);
    }
}

/// Panics with what it was asked about.
struct Quoting;

#[async_trait]
impl Gate for Quoting {
    async fn admit(&self, _: &Claims, event: &GatedEvent<'_>) -> Result<Admission, GateError> {
        assert!(!event.payload.contains("panics"), "{}", event.payload);
        Ok(Admission::Admitted)
    }
}

//! The gate: asked once a question, within its time, and its own trouble deletes nothing.

use std::time::Duration;

use super::*;
use crate::{AllOf, JudgedBy};

/// Answers by payload: `1` yes, `2` no, `3` can't tell, `4` panics.
struct ByPayload;

#[async_trait]
impl Gate for ByPayload {
    async fn admit(&self, claims: &Claims, event: &GatedEvent<'_>) -> Result<Admission, GateError> {
        assert_eq!(claims.as_map()["sub"], "user-1");
        match event.payload {
            "1" => Ok(Admission::Admitted),
            "2" => Ok(Admission::Refused("no consent".into())),
            "3" => Err(GateError("store is down".into())),
            _ => panic!("s3cret"),
        }
    }
}

/// I06: a panic is one event's verdict, and the process lives.
#[tokio::test]
async fn the_gate_decides_and_its_own_trouble_deletes_nothing() {
    let door = door_with(Queues::default(), Arc::new(ByPayload), registry());
    let events: Vec<Event> = (1..=4).map(|n| Event::new(n, "any_thing", n.to_string())).collect();
    let verdicts = door.send(&events).await.verdicts();
    assert_eq!(verdicts, ["acked", "refused: no consent", "deferred: gate", "deferred: gate"]);
    assert_eq!(door.queues.events().len(), 1);

    let failing = [Event::new(1, "any_thing", "3"), Event::new(2, "any_thing", "4")];
    let answered = door.send(&failing).await;
    assert_eq!(answered.status, 500, "a gate that fails for every event is the batch's fault");
    assert!(!answered.body.to_string().contains("s3cret"));
    let mixed = [Event::new(1, "any_thing", "3"), Event::new(2, "not_deployed", "1")];
    assert_eq!(door.send(&mixed).await.status, 200);
}

/// Writes down what it was asked, and hangs at one stream.
struct Asked {
    by: JudgedBy,
    questions: Mutex<Vec<String>>,
    look_ups: Mutex<usize>,
}

impl Asked {
    fn by(by: JudgedBy) -> Arc<Self> {
        Arc::new(Self { by, questions: Mutex::default(), look_ups: Mutex::default() })
    }

    fn questions(&self) -> Vec<String> {
        self.questions.lock().unwrap().clone()
    }
}

#[async_trait]
impl Gate for Asked {
    fn judged_by(&self) -> JudgedBy {
        self.by
    }

    async fn for_request(&self, _: &Claims) -> Result<Option<Box<dyn Gate>>, GateError> {
        *self.look_ups.lock().unwrap() += 1;
        Ok(None)
    }

    async fn admit(&self, _: &Claims, event: &GatedEvent<'_>) -> Result<Admission, GateError> {
        self.questions.lock().unwrap().push(format!("{} {}", event.stream, event.payload));
        if event.stream.as_str() == "other" {
            std::future::pending::<()>().await;
        }
        Ok(Admission::Refused("no".into()))
    }
}

fn five() -> Vec<Event> {
    let streams = ["any_thing", "any_thing", "fragile", "any_thing", "not_deployed"];
    let payloads = ["1", "2", r#"{"n":3}"#, "4", "5"];
    (1..).zip(streams).zip(payloads).map(|((n, stream), payload)| Event::new(n, stream, payload)).collect()
}

#[tokio::test]
async fn the_same_question_is_asked_once_a_request() {
    for (by, expected) in [
        (JudgedBy::Token, &["any_thing 1"][..]),
        (JudgedBy::Stream, &["any_thing 1", r#"fragile {"n":3}"#]),
        (JudgedBy::Event, &["any_thing 1", "any_thing 2", r#"fragile {"n":3}"#, "any_thing 4"]),
    ] {
        let gate = Asked::by(by);
        let door = door_with(Queues::default(), gate.clone(), registry());
        let verdicts = door.send(&five()).await.verdicts();
        assert_eq!(verdicts[..4], ["refused: no"; 4], "{by:?}: the one answer is everyone's");
        assert!(verdicts[4].starts_with("deferred: "), "not of the gate's");
        assert_eq!(gate.questions(), expected, "{by:?}");
        door.send(&five()).await;
        assert_eq!(gate.questions().len(), 2 * expected.len(), "{by:?}: another request asks again");
        assert_eq!(*gate.look_ups.lock().unwrap(), 2, "{by:?}: one look-up a request");
    }
}

#[tokio::test]
async fn a_batch_without_a_question_looks_nothing_up() {
    let gate = Asked::by(JudgedBy::Stream);
    let door = door_with(Queues::default(), gate.clone(), registry());
    let answered =
        door.send(&[Event::new(1, "not_deployed", "1"), Event::new(2, "any_thing", "1e999")]).await;
    assert_eq!(answered.status, 200);
    assert_eq!((*gate.look_ups.lock().unwrap(), gate.questions().len()), (0, 0));
}

/// I39
#[tokio::test(start_paused = true)]
async fn a_gate_that_hangs_defers_what_it_hangs_at_in_its_time() {
    let options = IngestOptions { gate_timeout: Duration::from_secs(2), ..IngestOptions::default() };
    let door = door_of(Queues::default(), Asked::by(JudgedBy::Event), registry(), options);
    let begun = tokio::time::Instant::now();
    let verdicts =
        door.send(&[Event::new(1, "other", "1"), Event::new(2, "any_thing", "1")]).await.verdicts();
    assert_eq!(verdicts, ["deferred: gate", "refused: no"]);
    assert_eq!(begun.elapsed(), Duration::from_secs(2));
    assert_eq!(door.send(&[Event::new(1, "other", "1")]).await.status, 500, "all of the batch");
    assert_eq!(*door.queues.calls.lock().unwrap(), 0);
}

/// A look-up that fails as its number says, or answers for its request.
struct LookUp(u8);

#[async_trait]
impl Gate for LookUp {
    async fn for_request(&self, _: &Claims) -> Result<Option<Box<dyn Gate>>, GateError> {
        match self.0 {
            0 => Ok(Some(Box::new(AdmitAll))),
            1 => Err(GateError("throttled".into())),
            2 => panic!("s3cret"),
            _ => std::future::pending().await,
        }
    }

    async fn admit(&self, _: &Claims, _: &GatedEvent<'_>) -> Result<Admission, GateError> {
        Ok(Admission::Refused("asked itself".into()))
    }
}

#[tokio::test(start_paused = true)]
async fn a_failed_look_up_defers_all_that_ask_and_nothing_else() {
    let events = [Event::new(1, "any_thing", "1"), Event::new(2, "any_thing", "1e999")];
    for (which, expected) in
        [(0, "acked"), (1, "deferred: gate"), (2, "deferred: gate"), (3, "deferred: gate")]
    {
        let door = door_with(Queues::default(), Arc::new(LookUp(which)), registry());
        let verdicts = door.send(&events).await.verdicts();
        assert_eq!(verdicts[0], expected, "{which}");
        assert!(verdicts[1].starts_with("rejected: "), "{which}");
        let status = if which == 0 { 200 } else { 500 };
        assert_eq!(door.send(&events[..1]).await.status, status, "{which}");
    }
}

#[tokio::test]
async fn all_of_several_gates_have_to_admit() {
    let all = |gates: Vec<Arc<dyn Gate>>| Arc::new(AllOf(gates));
    let one = [Event::new(1, "any_thing", "1")];
    let ask = async |gate: Arc<AllOf>| door_with(Queues::default(), gate, registry()).send(&one).await;
    let asked = Asked::by(JudgedBy::Stream);
    assert_eq!(ask(all(vec![Arc::new(AdmitAll), asked.clone()])).await.verdicts(), ["refused: no"]);
    assert_eq!(ask(all(vec![Arc::new(LookUp(0)), Arc::new(AdmitAll)])).await.verdicts(), ["acked"]);
    assert_eq!(ask(all(vec![Arc::new(LookUp(1)), asked.clone()])).await.status, 500);
    assert_eq!(asked.questions().len(), 1, "no question after a failed look-up");
    assert_eq!(ask(all(vec![])).await.verdicts(), ["acked"]);
    assert_eq!(all(vec![Arc::new(AdmitAll), asked]).judged_by(), JudgedBy::Stream, "the finest of theirs");
}

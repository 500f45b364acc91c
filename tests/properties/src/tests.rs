//! The properties by mutation; their own tests are that a broken answer breaks them.

use std::panic::catch_unwind;
use std::time::{Duration, Instant};

use crate::body::holds;
use crate::door::Answered;
use crate::mutate::mutate;
use crate::{PROPERTIES, seeds};

/// Inputs made up for each property in a test run.
const ROUNDS: usize = 20_000;

/// Seconds to hunt instead, from a seed that is printed; `cargo xtask fuzz` sets it where it has no
/// libFuzzer.
const SECONDS: &str = "EVENTLANE_FUZZ_SECONDS";

/// How long to go on, and from which seed.
fn plan() -> (u64, Option<Instant>) {
    match std::env::var(SECONDS).ok().and_then(|seconds| seconds.parse().ok()) {
        None => (20_251_130, None),
        Some(seconds) => {
            let seed = fastrand::u64(..);
            println!("seed {seed}");
            (seed, Some(Instant::now() + Duration::from_secs(seconds)))
        }
    }
}

fn hunt(name: &str) {
    let (_, property) = PROPERTIES.into_iter().find(|(known, _)| *known == name).unwrap();
    let seeds = seeds(name);
    assert!(seeds.len() > 8, "the fixtures are there");
    for seed in &seeds {
        property(seed);
    }
    let (seed, until) = plan();
    let mut rng = fastrand::Rng::with_seed(seed);
    for round in 0.. {
        if until.map_or(round == ROUNDS, |until| Instant::now() >= until) {
            break;
        }
        let input = mutate(&mut rng, &seeds);
        let held = catch_unwind(|| property(&input)).is_ok();
        assert!(held, "{name}, seed {seed}, round {round}: {:?}", String::from_utf8_lossy(&input));
    }
}

#[test]
fn any_body_is_answered_within_the_contract() {
    hunt("body");
}

#[test]
fn anything_inside_one_event_leaves_its_neighbours_alone() {
    hunt("envelope");
}

#[test]
fn anything_but_a_signed_token_stays_outside() {
    hunt("token");
}

/// A batch of one sound event, answered and queued as told.
fn judged(answer: &str, queued: &[(&str, &str)]) -> bool {
    let body = r#"{"events":[{"stream":"any_thing","eventId":"0199C82C-c000-7000-8000-000000000001","occurredAtUs":"1","payload":1}]}"#;
    let queued =
        queued.iter().map(|(id, payload)| ("any_thing".into(), (*id).into(), (*payload).into())).collect();
    let answered = Answered { status: 200, body: answer.to_owned(), queued };
    catch_unwind(|| holds(body.as_bytes(), &answered)).is_ok()
}

#[test]
fn a_lie_in_an_answer_breaks_the_property() {
    let (id, lower) = ("0199C82C-c000-7000-8000-000000000001", "0199c82c-c000-7000-8000-000000000001");
    let ack = |id: &str, rest: &str| format!(r#"{{"acks":[{{"eventId":"{id}","status":{rest}}}]}}"#);
    assert!(judged(&ack(id, "\"acked\""), &[(lower, "1")]));
    assert!(judged(&ack(id, "\"deferred\",\"reason\":\"no\""), &[]));
    assert!(!judged(&ack(id, "\"acked\""), &[]), "acked and not queued");
    assert!(!judged(&ack(id, "\"deferred\",\"reason\":\"no\""), &[(lower, "1")]), "queued and not acked");
    assert!(!judged(&ack(lower, "\"acked\""), &[(lower, "1")]), "an id that isn't echoed");
    assert!(!judged(&ack(id, "\"deferred\""), &[]), "no reason");
    assert!(!judged(r#"{"acks":[]}"#, &[]), "no verdict");
}

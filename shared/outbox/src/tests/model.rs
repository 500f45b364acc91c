//! Whatever happens, in whatever order: nothing is lost, nothing settled is sent again.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone)]
enum Act {
    Append(u8, usize),
    /// In the app's own transaction, which commits or not.
    AppendIn(u8, usize, bool),
    /// A pass whose requests are answered by these in turn; acks once they have run out.
    Flush(Vec<Mood>),
    Forwards(u64),
    Back(u64),
    /// The process dies and starts again.
    Reopen,
    /// The process dies with a batch posted and no answer, and starts again.
    Crash,
}

#[derive(Debug, Clone, Copy)]
enum Mood {
    Mixed(u8),
    Partial,
    Contradicting,
    Status(u16),
    Portal,
    Broken,
    /// Refuses requests with more than this many events.
    Narrow(usize),
}

fn mood() -> impl Strategy<Value = Mood> {
    prop_oneof![
        4 => any::<u8>().prop_map(Mood::Mixed),
        1 => Just(Mood::Partial),
        1 => Just(Mood::Contradicting),
        1 => prop::sample::select(vec![301, 400, 401, 404, 413, 429, 500, 503]).prop_map(Mood::Status),
        1 => Just(Mood::Portal),
        1 => Just(Mood::Broken),
        1 => (1usize..4).prop_map(Mood::Narrow),
    ]
}

fn act() -> impl Strategy<Value = Act> {
    const YEAR: u64 = 365 * 86_400;
    let seconds = || prop_oneof![3 => 0u64..400, 1 => Just(YEAR)];
    prop_oneof![
        3 => (0u8..3, 1usize..12).prop_map(|(stream, count)| Act::Append(stream, count)),
        1 => (0u8..3, 1usize..4, any::<bool>())
            .prop_map(|(stream, count, commits)| Act::AppendIn(stream, count, commits)),
        4 => prop::collection::vec(mood(), 0..6).prop_map(Act::Flush),
        3 => seconds().prop_map(Act::Forwards),
        1 => seconds().prop_map(Act::Back),
        1 => Just(Act::Reopen),
        1 => Just(Act::Crash),
    ]
}

const NAMES: [&str; 3] = ["a", "b", "c"];

/// What the server knows: every event it took for good, as often as it was sent after that.
#[derive(Default)]
struct Truth {
    terminal: BTreeSet<String>,
    sent_after_settling: Vec<String>,
    answers: BTreeMap<&'static str, usize>,
}

fn answer(truth: &mut Truth, seen: &Seen, mood: Option<Mood>) -> Option<Outcome> {
    for id in &seen.ids {
        if truth.terminal.contains(id) {
            truth.sent_after_settling.push(id.clone());
        }
    }
    let words = ["acked", "refused", "rejected", "deferred"];
    let mut settle = |acks: Vec<(&String, &'static str)>| {
        for (id, status) in &acks {
            *truth.answers.entry(status).or_default() += 1;
            if *status != "deferred" {
                truth.terminal.insert((*id).clone());
            }
        }
        verdicts(acks)
    };
    match mood {
        None => settle(seen.ids.iter().map(|id| (id, "acked")).collect()),
        Some(Mood::Mixed(salt)) => {
            let word = |at: usize| words[(at + usize::from(salt)) % words.len()];
            settle(seen.ids.iter().enumerate().map(|(at, id)| (id, word(at))).collect())
        }
        Some(Mood::Partial) => settle(seen.ids.iter().step_by(2).map(|id| (id, "acked")).collect()),
        Some(Mood::Contradicting) => {
            verdicts(seen.ids.iter().flat_map(|id| [(id, "acked"), (id, "rejected")]))
        }
        Some(Mood::Status(code)) => status(code),
        Some(Mood::Portal) => Some(Ok(ok("<html>"))),
        Some(Mood::Broken) => Some(Err(TransportError::Broken)),
        Some(Mood::Narrow(most)) if seen.ids.len() > most => status(413),
        Some(Mood::Narrow(_)) => settle(seen.ids.iter().map(|id| (id, "acked")).collect()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn nothing_is_lost_and_nothing_settled_is_sent_again(
        acts in prop::collection::vec(act(), 1..30), is_ledger in any::<bool>(),
    ) {
        let retention = Duration::from_secs(if is_ledger { 100 } else { 0 });
        let options = OutboxOptions { acked_retention: retention, ..OutboxOptions::default() };
        let mut rig = Rig::with(options.clone(), tuned(5));
        let truth = Arc::new(Mutex::new(Truth::default()));
        let mut appended = BTreeSet::new();
        for act in acts {
            match act {
                Act::Append(stream, count) => appended.extend(rig.append(NAMES[usize::from(stream)], count)),
                Act::AppendIn(stream, count, commits) => {
                    let mut sql = rig.sql();
                    let transaction = sql.transaction().unwrap();
                    let ids = (0..count).map(|n| {
                        let name = NAMES[usize::from(stream)];
                        rig.outbox.append_in(&transaction, name, &json!({ "n": n })).unwrap().event_id
                    });
                    let ids: Vec<String> = ids.collect();
                    if commits {
                        transaction.commit().unwrap();
                        appended.extend(ids);
                    }
                    rig.outbox.nudge();
                }
                Act::Flush(moods) => {
                    let (truth, mut moods) = (Arc::clone(&truth), moods.into_iter());
                    rig.server.behave(move |seen| answer(&mut truth.lock().unwrap(), seen, moods.next()));
                    let report = rig.flush();
                    prop_assert!(report.requests <= 400, "a pass ends: {report:?}");
                }
                Act::Forwards(seconds) => rig.clock.advance(Duration::from_secs(seconds)),
                Act::Back(seconds) => rig.clock.rewind(Duration::from_secs(seconds)),
                Act::Reopen | Act::Crash => {
                    if matches!(act, Act::Crash) {
                        let mut core = FlushCore::new(rig.outbox.clone(), &tuned(5)).unwrap();
                        if let Task::Authorize { .. } = core.next_task().unwrap() {
                            core.on_credentials(Ok(Credentials::anonymous())).unwrap();
                            drop(core.next_task().unwrap());
                        }
                    }
                    let options = OutboxOptions {
                        clock: Arc::new(rig.clock.clone()),
                        durability: Durability::Normal,
                        ..options.clone()
                    };
                    rig.outbox = Outbox::open(rig.path(), registry(), options).unwrap();
                    rig.flusher = flusher(&rig.outbox, tuned(5), &rig.server);
                }
            }
            let truth = truth.lock().unwrap();
            let pending: BTreeSet<String> =
                rig.rows().into_iter().filter(|row| row.acked_us.is_none()).map(|row| row.id).collect();
            let owed: BTreeSet<String> = appended.difference(&truth.terminal).cloned().collect();
            prop_assert_eq!(&pending, &owed, "what is owed is pending, and nothing else");
            prop_assert!(truth.sent_after_settling.is_empty());
            prop_assert_eq!(rig.outbox.pending().unwrap(), pending.len() as u64, "the counters hold");
            prop_assert_eq!(rig.outbox.status().unwrap().empty, pending.is_empty());
        }
        // In the end, with a kind server and enough time, everything is delivered.
        let end = Arc::clone(&truth);
        rig.server.behave(move |seen| answer(&mut end.lock().unwrap(), seen, None));
        for _ in 0..20 {
            rig.clock.advance(Duration::from_secs(2 * 86_400));
            rig.flush();
        }
        prop_assert_eq!(&truth.lock().unwrap().terminal, &appended);
        prop_assert!(rig.rows().is_empty() && rig.outbox.status().unwrap().empty);
    }
}

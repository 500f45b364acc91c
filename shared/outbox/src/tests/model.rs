//! Whatever happens, in whatever order: nothing is lost, nothing settled is sent again, nothing goes as
//! another account's, and the ledger keeps what it should.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use eventlane_contracts::Clock as _;
use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone)]
enum Act {
    Append(u8, usize),
    /// In the app's own transaction, which commits or not.
    AppendIn(u8, usize, bool),
    /// A pass whose requests are answered by these in turn; acks once they have run out. Where the token
    /// is refused, the refreshed one may be another account's.
    Flush(Vec<Mood>, Option<usize>),
    /// Somebody else signs in, or nobody is signed in any more.
    SignIn(usize),
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
    /// 503 with a `Retry-After` of so many seconds.
    Held(u64),
    Strangers,
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
        2 => prop::sample::select(vec![204, 301, 307, 400, 401, 403, 404, 408, 413, 415, 429, 500, 503])
            .prop_map(Mood::Status),
        1 => (0u64..100_000).prop_map(Mood::Held),
        1 => Just(Mood::Strangers),
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
        4 => (prop::collection::vec(mood(), 0..6), prop::option::of(0usize..4))
            .prop_map(|(moods, refreshed)| Act::Flush(moods, refreshed)),
        1 => (0usize..4).prop_map(Act::SignIn),
        3 => seconds().prop_map(Act::Forwards),
        1 => seconds().prop_map(Act::Back),
        1 => Just(Act::Reopen),
        1 => Just(Act::Crash),
    ]
}

const NAMES: [&str; 3] = ["a", "b", "c"];

/// No accounts, two, and nobody signed in.
const ACCOUNTS: [Option<&str>; 4] = [None, Some("ann"), Some("bob"), Some("")];

fn account(at: usize) -> Option<String> {
    ACCOUNTS[at].map(str::to_owned)
}

fn token_of(account: Option<&str>) -> String {
    format!("token of {account:?}")
}

/// Who is signed in, and who will be once the token is refreshed.
#[derive(Default)]
struct Session {
    signed_in: usize,
    refreshed: Option<usize>,
}

fn source(session: &Arc<Mutex<Session>>) -> Arc<dyn TokenSource> {
    let session = Arc::clone(session);
    Arc::new(move |refresh: bool| {
        let mut session = session.lock().unwrap();
        if refresh && let Some(refreshed) = session.refreshed.take() {
            session.signed_in = refreshed;
        }
        let account = account(session.signed_in);
        Ok(Credentials { token: Some(token_of(account.as_deref())), account })
    })
}

fn flusher_of(outbox: &Outbox, session: &Arc<Mutex<Session>>, server: &Arc<Server>) -> Flusher {
    let transport: Arc<dyn Transport> = Arc::clone(server) as Arc<dyn Transport>;
    Flusher::new(outbox.clone(), tuned(5), transport, source(session)).unwrap()
}

/// What the server knows: every event it took for good, as often as it was sent after that.
#[derive(Default)]
struct Truth {
    /// Whose each event is.
    accounts: BTreeMap<String, Option<String>>,
    sent_as_another: Vec<String>,
    acked: BTreeSet<String>,
    terminal: BTreeSet<String>,
    sent_after_settling: Vec<String>,
    answers: BTreeMap<&'static str, usize>,
}

fn answer(truth: &mut Truth, seen: &Seen, mood: Option<Mood>) -> Option<Outcome> {
    for id in &seen.ids {
        if truth.terminal.contains(id) {
            truth.sent_after_settling.push(id.clone());
        }
        if truth.accounts.get(id).map(|account| token_of(account.as_deref())) != seen.token {
            truth.sent_as_another.push(id.clone());
        }
    }
    let words = ["acked", "refused", "rejected", "deferred"];
    let mut settle = |acks: Vec<(&String, &'static str)>| {
        for (id, status) in &acks {
            *truth.answers.entry(status).or_default() += 1;
            if *status == "acked" {
                truth.acked.insert((*id).clone());
            }
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
        Some(Mood::Held(seconds)) => Some(Ok(PostResponse {
            status: 503,
            retry_after: Some(seconds.to_string()),
            date: None,
            body: Vec::new(),
        })),
        Some(Mood::Strangers) => verdicts([(&"00000000-0000-7000-8000-000000000000".to_owned(), "acked")]),
        Some(Mood::Portal) => Some(Ok(ok("<html>"))),
        Some(Mood::Broken) => Some(Err(TransportError::Broken)),
        Some(Mood::Narrow(most)) if seen.ids.len() > most => status(413),
        Some(Mood::Narrow(_)) => settle(seen.ids.iter().map(|id| (id, "acked")).collect()),
    }
}

/// The ledger after a pass: what was in it, and what the pass acked, as long as it is within its
/// retention by the clock.
fn swept(
    ledger: &BTreeMap<String, i64>,
    acked: &BTreeSet<String>,
    known: &BTreeSet<String>,
    now_us: i64,
    retention_us: Option<i64>,
) -> BTreeMap<String, i64> {
    let fresh = acked.difference(known).map(|id| (id.clone(), now_us));
    let all = ledger.iter().map(|(id, at_us)| (id.clone(), *at_us)).chain(fresh);
    all.filter(|(_, at_us)| retention_us.is_some_and(|us| *at_us > now_us - us && *at_us <= now_us + us))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]
    #[test]
    fn nothing_is_lost_and_nothing_settled_is_sent_again(
        acts in prop::collection::vec(act(), 1..30), is_ledger in any::<bool>(),
    ) {
        let retention = Duration::from_secs(if is_ledger { 100 } else { 0 });
        let retention_us = is_ledger.then_some(100_000_000);
        let options = OutboxOptions { acked_retention: retention, ..OutboxOptions::default() };
        let mut rig = Rig::with(options.clone(), tuned(5));
        let session = Arc::new(Mutex::new(Session::default()));
        rig.flusher = flusher_of(&rig.outbox, &session, &rig.server);
        let truth = Arc::new(Mutex::new(Truth::default()));
        let (mut appended, mut ledger) = (BTreeSet::new(), BTreeMap::new());
        for act in acts {
            let signed_in = account(session.lock().unwrap().signed_in);
            let mut added = Vec::new();
            match act {
                Act::Append(stream, count) => added = rig.append(NAMES[usize::from(stream)], count),
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
                        added = ids;
                    }
                    rig.outbox.nudge();
                }
                Act::Flush(moods, refreshed) => {
                    session.lock().unwrap().refreshed = refreshed;
                    let known = truth.lock().unwrap().acked.clone();
                    let (answers, mut moods) = (Arc::clone(&truth), moods.into_iter());
                    rig.server.behave(move |seen| answer(&mut answers.lock().unwrap(), seen, moods.next()));
                    let report = rig.flush();
                    prop_assert!(report.requests <= 400, "a pass ends: {report:?}");
                    session.lock().unwrap().refreshed = None;
                    rig.outbox.set_account(account(session.lock().unwrap().signed_in));
                    if report.end != PassEnd::BackingOff {
                        let acked = &truth.lock().unwrap().acked;
                        ledger = swept(&ledger, acked, &known, rig.clock.now_us(), retention_us);
                    }
                }
                Act::SignIn(at) => {
                    session.lock().unwrap().signed_in = at;
                    rig.outbox.set_account(account(at));
                    if let Some(name) = ACCOUNTS[at] {
                        // What was appended signed out is theirs.
                        rig.outbox.claim(name).unwrap();
                        let mut truth = truth.lock().unwrap();
                        for (_, whose) in truth.accounts.iter_mut().filter(|(_, whose)| whose.as_deref() == Some("")) {
                            *whose = Some(name.to_owned());
                        }
                    }
                }
                Act::Forwards(seconds) => rig.clock.advance(Duration::from_secs(seconds)),
                Act::Back(seconds) => rig.clock.rewind(Duration::from_secs(seconds)),
                Act::Reopen | Act::Crash => {
                    if matches!(act, Act::Crash) {
                        let mut core = FlushCore::new(rig.outbox.clone(), &tuned(5)).unwrap();
                        if let Task::Authorize { .. } = core.next_task().unwrap() {
                            let credentials = Credentials { token: None, account: signed_in.clone() };
                            core.on_credentials(Ok(credentials)).unwrap();
                            drop(core.next_task().unwrap());
                        }
                        // A pass that was begun may have swept.
                        let now_us = rig.clock.now_us();
                        let kept: BTreeSet<String> = rig.stored_ids();
                        ledger.retain(|id, at_us| {
                            kept.contains(id)
                                || retention_us.is_some_and(|us| *at_us > now_us - us && *at_us <= now_us + us)
                        });
                    }
                    let options = OutboxOptions {
                        clock: Arc::new(rig.clock.clone()),
                        durability: Durability::Normal,
                        account: signed_in.clone(),
                        ..options.clone()
                    };
                    rig.outbox = Outbox::open(rig.path(), registry(), options).unwrap();
                    rig.flusher = flusher_of(&rig.outbox, &session, &rig.server);
                }
            }
            let mut truth = truth.lock().unwrap();
            truth.accounts.extend(added.iter().map(|id| (id.clone(), signed_in.clone())));
            appended.extend(added);
            let rows = rig.rows();
            let pending: BTreeSet<String> =
                rows.iter().filter(|row| row.acked_us.is_none()).map(|row| row.id.clone()).collect();
            let stamped: BTreeMap<String, i64> =
                rows.iter().filter_map(|row| Some((row.id.clone(), row.acked_us?))).collect();
            let owed: BTreeSet<String> = appended.difference(&truth.terminal).cloned().collect();
            prop_assert_eq!(&pending, &owed, "what is owed is pending, and nothing else");
            prop_assert_eq!(&stamped, &ledger, "the ledger is swept by its retention");
            prop_assert!(truth.sent_after_settling.is_empty());
            prop_assert!(truth.sent_as_another.is_empty());
            prop_assert_eq!(rig.outbox.pending().unwrap(), pending.len() as u64, "the counters hold");
            prop_assert_eq!(rig.outbox.status().unwrap().empty, pending.is_empty());
        }
        // In the end, with a kind server and enough time, everything is delivered, whosever it is.
        let end = Arc::clone(&truth);
        rig.server.behave(move |seen| answer(&mut end.lock().unwrap(), seen, None));
        rig.outbox.claim("ann").unwrap();
        for (_, whose) in truth.lock().unwrap().accounts.iter_mut().filter(|(_, whose)| whose.as_deref() == Some("")) {
            *whose = Some("ann".to_owned());
        }
        for at in 0..3 {
            session.lock().unwrap().signed_in = at;
            for _ in 0..20 {
                rig.clock.advance(Duration::from_secs(2 * 86_400));
                rig.flush();
            }
        }
        let truth = truth.lock().unwrap();
        prop_assert_eq!(&truth.terminal, &appended);
        prop_assert!(truth.sent_as_another.is_empty() && truth.sent_after_settling.is_empty());
        prop_assert!(rig.rows().is_empty() && rig.outbox.status().unwrap().empty);
    }
}

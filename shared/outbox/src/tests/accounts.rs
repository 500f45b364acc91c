//! A7 as far as assembly goes: events of one account are never sent as another.

use super::*;

/// A token source whose answers are scripted: the account of the first token, and of the refreshed.
fn source(first: &'static str, refreshed: &'static str) -> Arc<dyn TokenSource> {
    Arc::new(move |refresh: bool| {
        let account = if refresh { refreshed } else { first };
        Ok(Credentials::bearer(account).for_account(account))
    })
}

fn rig_of_two() -> (Rig, String, String) {
    let rig = Rig::new();
    rig.outbox.set_account(Some("ann".to_owned()));
    let anns = rig.append("a", 1).remove(0);
    rig.outbox.set_account(Some("bob".to_owned()));
    let bobs = rig.append("a", 1).remove(0);
    (rig, anns, bobs)
}

fn flush(rig: &Rig, tokens: Arc<dyn TokenSource>) -> FlushReport {
    let transport: Arc<dyn Transport> = Arc::clone(&rig.server) as Arc<dyn Transport>;
    Flusher::new(rig.outbox.clone(), tuned(10), transport, tokens).unwrap().flush().unwrap()
}

#[test]
fn a_pass_sends_its_own_accounts_rows_only() {
    let (rig, anns, bobs) = rig_of_two();
    assert_eq!(flush(&rig, source("bob", "bob")).acked, 1);
    assert_eq!((rig.server.ids(), rig.stored_ids()), (vec![bobs], set(&[anns])));
    assert_eq!(rig.flush().posted, 0, "nor do an account's rows ride without an account");
}

#[test]
fn a_refresh_that_yields_another_account_assembles_again() {
    let (rig, anns, bobs) = rig_of_two();
    rig.server.behave(|seen| if seen.token.as_deref() == Some("ann") { status(401) } else { None });
    assert_eq!(flush(&rig, source("ann", "bob")).acked, 1);
    let seen: Vec<_> = rig.server.seen().into_iter().map(|seen| (seen.token.unwrap(), seen.ids)).collect();
    assert_eq!(seen, [("ann".to_owned(), vec![anns.clone()]), ("bob".to_owned(), vec![bobs])]);
    assert_eq!(rig.stored_ids(), set(&[anns]));
}

#[test]
fn no_row_is_posted_twice_in_a_pass_that_comes_back_to_an_account() {
    let (rig, _, _) = rig_of_two();
    let asked_for = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let asked = Arc::clone(&asked_for);
    let tokens = Arc::new(move |_| {
        let account = ["ann", "bob", "ann"][asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst).min(2)];
        Ok(Credentials::bearer(account).for_account(account))
    });
    let (clock, mut answers) = (rig.clock.clone(), 0);
    rig.server.behave(move |seen| {
        answers += 1;
        // The row's due time is further ahead than any that the pass's start could have given.
        clock.advance(std::time::Duration::from_secs(4000));
        match answers {
            1 | 3 => verdicts(seen.ids.iter().map(|id| (id, "deferred"))),
            2 | 4 => status(401),
            _ => None,
        }
    });
    // Of bob.
    for stream in ["c", "b"] {
        rig.append(stream, 1);
    }
    rig.outbox.set_account(Some("ann".to_owned()));
    rig.append("b", 1);
    let transport: Arc<dyn Transport> = Arc::clone(&rig.server) as Arc<dyn Transport>;
    Flusher::new(rig.outbox.clone(), tuned(1), transport, tokens).unwrap().flush().unwrap();
    assert_eq!(asked_for.load(std::sync::atomic::Ordering::SeqCst), 3, "it came back to ann");
    let first = rig.server.seen()[0].ids[0].clone();
    assert_eq!(rig.server.ids().iter().filter(|id| **id == first).count(), 1);
}

#[test]
fn a_token_is_taken_when_sending_and_a_401_costs_no_attempt() {
    // C31
    let rig = Rig::new();
    rig.append("a", 3); // while the provider still gave T1
    let refreshes = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let count = Arc::clone(&refreshes);
    let tokens = Arc::new(move |refresh: bool| {
        count.fetch_add(usize::from(refresh), std::sync::atomic::Ordering::SeqCst);
        Ok(Credentials::bearer("T2"))
    });
    rig.server.behave(|seen| if seen.token.as_deref() == Some("T2") { status(401) } else { None });
    let transport: Arc<dyn Transport> = Arc::clone(&rig.server) as Arc<dyn Transport>;
    Flusher::new(rig.outbox.clone(), tuned(1), transport, tokens).unwrap().flush().unwrap();
    assert_eq!(refreshes.load(std::sync::atomic::Ordering::SeqCst), 1);
    assert!(rig.server.seen().iter().all(|seen| seen.token.as_deref() == Some("T2")), "never frozen");
    assert!(rig.rows().iter().all(StoredRow::is_untouched) && rig.rows().len() == 3);
}

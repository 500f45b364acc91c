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

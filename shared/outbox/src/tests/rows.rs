//! Reading is public contract: columns, rows, and a best-guess view.

use std::time::Duration;

use super::*;

#[test]
fn the_columns_are_those_of_the_table_and_a_row_reads_them_all() {
    let rig = Rig::new();
    rig.outbox.set_account(Some("ann".to_owned()));
    let appended = rig.outbox.append("a", &json!({"n": 1})).unwrap();
    let sql = rig.sql();
    let mut columns = sql.prepare("SELECT name FROM pragma_table_info('eventlane_outbox')").unwrap();
    let columns: Vec<String> = columns.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    use column::*;
    let named = [
        SEQ,
        EVENT_ID,
        STREAM,
        OCCURRED_AT_US,
        PAYLOAD,
        ENQUEUED_AT_US,
        ATTEMPT_COUNT,
        NEXT_RETRY_AT_US,
        LAST_REASON,
        ACKED_AT_US,
        ACCOUNT,
    ];
    assert_eq!(columns, named);
    let row = sql.query_row(ROWS_SQL, [], OutboxRow::read).unwrap();
    assert_eq!(Some(&row), rig.outbox.row_of(&appended.event_id).unwrap().as_ref());
    assert_eq!((row.seq, row.payload.as_str(), row.account.as_deref()), (1, "{\"n\":1}", Some("ann")));
    assert!(row.is_pending() && row.attempt_count == 0 && row.last_reason.is_none());
    assert!(!format!("{row:?}").contains("\\\"n\\\"") && !format!("{row:?}").contains("ann"));
}

#[test]
fn rows_are_paged_in_order() {
    let rig = Rig::new();
    let ids = rig.append("a", 7);
    let (mut seen, mut after) = (Vec::new(), 0);
    loop {
        let page = rig.outbox.rows_after(after, 3).unwrap();
        let Some(last) = page.last() else { break };
        after = last.seq;
        seen.extend(page.into_iter().map(|row| row.event_id));
    }
    assert_eq!(seen, ids);
    assert_eq!(rig.outbox.row_of("nobody").unwrap(), None);
}

#[test]
fn a_best_guess_holds_pending_rows_and_acked_ones_until_they_are_folded() {
    let rig = Rig::with(
        OutboxOptions { acked_retention: Duration::from_secs(100), ..OutboxOptions::default() },
        tuned(10),
    );
    let sql = rig.sql();
    sql.execute_batch(BEST_GUESS_SQL).unwrap();
    sql.execute_batch(BEST_GUESS_SQL).unwrap();
    let guess = || -> Vec<(String, bool)> {
        let mut rows =
            sql.prepare("SELECT event_id, acked_at_us IS NULL FROM eventlane_unfolded ORDER BY seq").unwrap();
        rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().map(Result::unwrap).collect()
    };
    let acked = rig.append("a", 1).remove(0);
    rig.flush();
    let acked_at_us = rig.rows()[0].acked_us.unwrap();
    let pending = rig.append("a", 1).remove(0);
    assert_eq!(guess(), [(acked, false), (pending.clone(), true)]);
    // What came down has folded the stream up to the ack: it is counted there, and no more here.
    sql.execute("INSERT INTO eventlane_folded VALUES ('a', ?1)", [acked_at_us]).unwrap();
    assert_eq!(guess(), [(pending, true)]);
}

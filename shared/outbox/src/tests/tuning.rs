//! F9: nonsense fails at construction, every offender named with its origin.

use std::collections::BTreeMap;
use std::time::Duration;

use super::*;

fn offenders(options: &FlushOptions) -> Vec<String> {
    match FlushCore::new(Rig::new().outbox, options) {
        Ok(_) => Vec::new(),
        Err(error) => error.offenders().to_vec(),
    }
}

#[test]
fn every_offender_is_named_with_where_its_number_came_from() {
    let backoff = |base, ceiling| BackoffTuning {
        base: Option::map(base, Duration::from_secs),
        ceiling: Option::map(ceiling, Duration::from_secs),
    };
    let stream = |batch_size, backoff| StreamTuning { batch_size, backoff };
    let options = FlushOptions {
        batch_size: Some(0),
        interval: Some(Duration::ZERO),
        linger: Some(Duration::ZERO),
        token_timeout: Some(Duration::ZERO),
        backoff: backoff(Some(600), None),
        streams: BTreeMap::from([
            ("a".to_owned(), stream(Some(0), BackoffTuning::default())),
            ("b".to_owned(), stream(None, backoff(None, Some(10)))),
            ("c".to_owned(), stream(None, backoff(Some(0), Some(700)))),
            ("nobody".to_owned(), stream(Some(1), BackoffTuning::default())),
        ]),
    };
    assert_eq!(
        offenders(&options),
        [
            "batch_size 0 (set for the lane) would never send anything",
            "interval 0 (set for the lane) would never rest",
            "token_timeout 0 (set for the lane) would never get a token",
            "backoff: base 600s (set for the lane) is above ceiling 300s (the default)",
            "batch_size 0 (set for stream a) would hold its rows for ever",
            "backoff of stream b: base 600s (set for the lane) is above ceiling 10s (set for stream b)",
            "backoff of stream c: base 0 (set for stream c) would never wait",
            "stream \"nobody\" is tuned but unknown; known are a, b, c",
        ]
    );
}

#[test]
fn a_streams_backoff_inherits_what_it_leaves_unset() {
    let own = BackoffTuning { base: None, ceiling: Some(Duration::from_secs(4)) };
    let streams = BTreeMap::from([("a".to_owned(), StreamTuning { batch_size: None, backoff: own })]);
    let lane = BackoffTuning { base: Some(Duration::from_secs(2)), ceiling: None };
    let rig = Rig::with(OutboxOptions::default(), FlushOptions { backoff: lane, streams, ..tuned(10) });
    rig.append("a", 1);
    rig.sql().execute("UPDATE eventlane_outbox SET attempt_count = 9", []).unwrap();
    rig.server.behave(|seen| verdicts(seen.ids.iter().map(|id| (id, "deferred"))));
    let wait = rig.flush().wait.unwrap();
    assert!(wait >= Duration::from_secs(2) && wait <= Duration::from_secs(4), "{wait:?}");
}

#[test]
fn a_batch_size_beyond_the_wires_limit_is_clamped() {
    let rig = Rig::with(OutboxOptions::default(), tuned(5000));
    rig.append("a", 1001);
    rig.flush();
    assert_eq!(rig.server.batches(), [1000, 1]);
}

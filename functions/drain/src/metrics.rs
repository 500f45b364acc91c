//! The drain's metrics: what happened to each stream's messages in one invocation, as lines of
//! CloudWatch's embedded format.

use std::collections::BTreeMap;

use anyhow::Result;
use eventlane_consumer::Tally;
use eventlane_contracts::StreamName;
use eventlane_telemetry::{Metrics, Record, Unit};

/// Counts of one name each; what is nought isn't told.
type Counts = [(&'static str, u64); 12];

pub(crate) struct DrainMetrics(Option<Metrics>);

impl DrainMetrics {
    /// On stdout, which Lambda's log turns into metrics; nowhere without a namespace.
    pub(crate) fn new(namespace: Option<&str>) -> Result<Self> {
        let emf = |namespace| Metrics::emf(namespace, std::io::stdout());
        Ok(Self(namespace.map(emf).transpose()?))
    }

    /// Tells what happened since the last time.
    pub(crate) fn tell(&self, tallies: &BTreeMap<StreamName, Tally>, now_us: i64) {
        if let Some(metrics) = &self.0 {
            for (stream, tally) in tallies {
                metrics.emit(&record(stream, tally, now_us));
            }
        }
    }
}

fn record(stream: &StreamName, tally: &Tally, now_us: i64) -> Record {
    let record = Record::at(now_us).dimension("Service", "drain").dimension("Stream", stream.to_string());
    let told = counts(tally).into_iter().filter(|(_, count)| *count > 0);
    let record = told.fold(record, |record, (name, count)| record.count(name, count));
    match tally.slowest_callback {
        callback if callback.is_zero() => record,
        callback => record.value("SlowestCallback", Unit::Milliseconds, callback.as_secs_f64() * 1e3),
    }
}

fn counts(tally: &Tally) -> Counts {
    [
        ("Delivered", tally.delivered),
        ("EventsDelivered", tally.events_delivered),
        ("Failed", tally.failed),
        ("Retried", tally.retried),
        ("DeadLettered", tally.dead_lettered),
        ("EventsDeadLettered", tally.events_dead_lettered),
        ("Unreadable", tally.unreadable),
        ("Busy", tally.busy),
        ("Released", tally.released),
        ("LeasesLapsed", tally.lapsed),
        ("Unsettled", tally.unsettled),
        ("ReadFaults", tally.read_faults),
    ]
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_streams_record_tells_what_happened_and_nothing_that_did_not() {
        let stream = StreamName::new("card_graded").unwrap();
        let tally = Tally {
            delivered: 2,
            events_delivered: 30,
            dead_lettered: 1,
            slowest_callback: Duration::from_millis(12),
            ..Tally::default()
        };
        let expected = Record::at(5_000)
            .dimension("Service", "drain")
            .dimension("Stream", "card_graded")
            .count("Delivered", 2)
            .count("EventsDelivered", 30)
            .count("DeadLettered", 1)
            .value("SlowestCallback", Unit::Milliseconds, 12.0);
        assert_eq!(record(&stream, &tally, 5_000), expected);
    }

    #[test]
    fn each_count_has_a_name_that_the_operations_guide_explains() {
        let guide = include_str!("../../../docs/operations.md");
        for (name, _) in counts(&Tally::default()).into_iter().chain([("SlowestCallback", 0)]) {
            assert!(guide.contains(&format!("| `{name}` |")), "{name} is not explained");
        }
    }
}

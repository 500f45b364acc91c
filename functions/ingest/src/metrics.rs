//! The ingest's metrics, a few lines of CloudWatch's embedded format a request.
//!
//! Every dimension has few values: streams of the registry, verdicts, faults and reasons by their
//! stable words.

use std::sync::Arc;

use anyhow::Result;
use eventlane_contracts::Clock;
use eventlane_ingest::{Observer, RequestReport};
use eventlane_telemetry::{Metrics, Record, Unit};

pub(crate) struct RequestMetrics {
    metrics: Metrics,
    clock: Arc<dyn Clock>,
}

impl RequestMetrics {
    /// On stdout, which Lambda's log turns into metrics.
    pub(crate) fn new(namespace: &str, clock: Arc<dyn Clock>) -> Result<Self> {
        Ok(Self { metrics: Metrics::emf(namespace, std::io::stdout())?, clock })
    }
}

impl Observer for RequestMetrics {
    fn answered(&self, report: &RequestReport) {
        for record in records(report, self.clock.now_us()) {
            self.metrics.emit(&record);
        }
    }
}

fn records(report: &RequestReport, now_us: i64) -> Vec<Record> {
    let record = || Record::at(now_us).dimension("Service", "ingest");
    let mut records = Vec::new();
    match report.fault {
        None if report.verdicts.is_empty() => {}
        None => {
            let events: usize = report.verdicts.iter().map(|count| count.events).sum();
            let sizes = record()
                .value("BatchEvents", Unit::Count, float(events))
                .value("BatchBytes", Unit::Bytes, float(report.bytes))
                .value("RequestLatency", Unit::Milliseconds, report.took.as_secs_f64() * 1e3);
            records.push(enqueue_latency(sizes, report));
        }
        // A token's fault is counted beside the others', and tells which.
        Some(fault) if fault.starts_with("token_") => {
            records.push(record().dimension("Reason", fault).count("RejectedTokens", 1));
        }
        Some(fault) => {
            let faults = record().dimension("Reason", fault).count("Faults", 1);
            records.push(enqueue_latency(faults, report));
        }
    }
    records.extend(report.verdicts.iter().map(|count| {
        record()
            .dimension("Stream", count.stream.clone())
            .dimension("Verdict", count.status)
            .dimension("Reason", count.reason)
            .count("Events", count.events as u64)
    }));
    records
}

fn enqueue_latency(record: Record, report: &RequestReport) -> Record {
    match report.enqueue_took {
        Some(took) => record.value("EnqueueLatency", Unit::Milliseconds, took.as_secs_f64() * 1e3),
        None => record,
    }
}

#[expect(clippy::cast_precision_loss, reason = "a request's sizes are far below 2^53")]
fn float(number: usize) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use eventlane_ingest::VerdictCount;

    use super::*;

    fn report() -> RequestReport {
        let count = |stream: &str, status, reason, events| VerdictCount {
            stream: stream.to_owned(),
            status,
            reason,
            events,
        };
        RequestReport {
            status: 200,
            fault: None,
            verdicts: vec![
                count("a", "acked", "acked", 3),
                count("unknown", "deferred", "unknown_stream", 2),
            ],
            bytes: 700,
            took: Duration::from_millis(12),
            enqueue_took: Some(Duration::from_millis(7)),
        }
    }

    #[test]
    fn verdicts_are_counted_by_stream_and_reason_and_sizes_by_request() {
        let ingest = || Record::at(5_000).dimension("Service", "ingest");
        let of = |stream: &'static str, verdict: &'static str, reason: &'static str| {
            ingest().dimension("Stream", stream).dimension("Verdict", verdict).dimension("Reason", reason)
        };
        let sizes = ingest()
            .value("BatchEvents", Unit::Count, 5.0)
            .value("BatchBytes", Unit::Bytes, 700.0)
            .value("RequestLatency", Unit::Milliseconds, 12.0)
            .value("EnqueueLatency", Unit::Milliseconds, 7.0);
        let expected = [
            sizes,
            of("a", "acked", "acked").count("Events", 3),
            of("unknown", "deferred", "unknown_stream").count("Events", 2),
        ];
        assert_eq!(records(&report(), 5_000), expected);
    }

    #[test]
    fn a_fault_is_one_count_and_a_tokens_has_a_name_of_its_own() {
        let faulty = |fault, enqueue_took| {
            records(&RequestReport { fault: Some(fault), verdicts: vec![], enqueue_took, ..report() }, 0)
        };
        let of =
            |reason: &'static str| Record::at(0).dimension("Service", "ingest").dimension("Reason", reason);
        assert_eq!(faulty("token_expired", None), [of("token_expired").count("RejectedTokens", 1)]);
        let outage = of("unavailable").count("Faults", 1);
        let outage = outage.value("EnqueueLatency", Unit::Milliseconds, 7.0);
        assert_eq!(faulty("unavailable", Some(Duration::from_millis(7))), [outage]);
        assert!(records(&RequestReport { verdicts: vec![], ..report() }, 0).is_empty(), "a health check");
    }
}

//! Metrics: every line keeps the embedded metric format.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::{Metrics, MetricsError, Record, Unit};

/// Each write as one element, so that a test sees what could be torn apart.
#[derive(Clone, Default)]
struct Writes(Arc<Mutex<Vec<String>>>);

impl Write for Writes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().push(String::from_utf8(bytes.to_vec()).unwrap());
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The rules of the format's own schema, and what its text adds: one directive, no more than 100
/// values, texts that CloudWatch takes as dimensions.
fn schema() -> jsonschema::Validator {
    let name = json!({"type": "string", "minLength": 1, "maxLength": 1024});
    let directive = json!({
        "type": "object",
        "required": ["Namespace", "Dimensions", "Metrics"],
        "additionalProperties": false,
        "properties": {
            "Namespace": {"type": "string", "pattern": "^[0-9A-Za-z.\\-_/#:]{1,255}$"},
            "Dimensions": {"type": "array", "minItems": 1, "items": {
                "type": "array", "maxItems": 30, "uniqueItems": true,
                "items": {"type": "string", "minLength": 1, "maxLength": 250}}},
            "Metrics": {"type": "array", "minItems": 1, "maxItems": 100, "items": {
                "type": "object", "required": ["Name"], "additionalProperties": false,
                "properties": {"Name": name,
                    "Unit": {"enum": ["Count", "Milliseconds", "Seconds", "Bytes", "None"]}}}},
        }
    });
    let schema = json!({
        "type": "object",
        "required": ["_aws"],
        "properties": {"_aws": {
            "type": "object", "required": ["Timestamp", "CloudWatchMetrics"], "additionalProperties": false,
            "properties": {
                "Timestamp": {"type": "integer"},
                "CloudWatchMetrics": {"type": "array", "minItems": 1, "items": directive}}}},
        "additionalProperties": {"anyOf": [
            {"type": "number"},
            {"type": "string", "minLength": 1, "maxLength": 1024},
            {"type": "array", "minItems": 1, "maxItems": 100, "items": {"type": "number"}}]},
    });
    jsonschema::validator_for(&schema).unwrap()
}

/// Emits the record and gives back its lines, each judged.
fn lines(record: &Record) -> Vec<Value> {
    let writes = Writes::default();
    Metrics::emf("Eventlane", writes.clone()).unwrap().emit(record);
    let writes = writes.0.lock().unwrap().clone();
    writes.iter().map(|write| judged(write)).collect()
}

/// The write as one line that keeps the format, with the targets that its directive names.
fn judged(write: &str) -> Value {
    assert_eq!((write.matches('\n').count(), write.ends_with('\n')), (1, true), "one write is one line");
    let line: Value = serde_json::from_str(write).unwrap();
    assert!(schema().is_valid(&line), "{line}");
    let directive = &line["_aws"]["CloudWatchMetrics"][0];
    for name in directive["Dimensions"][0].as_array().unwrap() {
        let value = line[name.as_str().unwrap()].as_str().unwrap();
        assert!(value.bytes().all(|b| (b' '..=b'~').contains(&b)) && !value.trim().is_empty(), "{value:?}");
    }
    for metric in directive["Metrics"].as_array().unwrap() {
        let value = &line[metric["Name"].as_str().unwrap()];
        assert!(value.is_number() || value.is_array(), "{metric} has no target");
    }
    line
}

#[test]
fn a_record_is_one_line_of_the_embedded_metric_format() {
    let record = Record::at(1_764_518_400_123_456)
        .dimension("stream", "bird_strike")
        .property("request_id", "c0ffee")
        .count("delivered", 7)
        .value("pass_ms", Unit::Milliseconds, 12.5);
    let expected = json!({
        "_aws": {"Timestamp": 1_764_518_400_123_i64, "CloudWatchMetrics": [{
            "Namespace": "Eventlane",
            "Dimensions": [["stream"]],
            "Metrics": [{"Name": "delivered", "Unit": "Count"}, {"Name": "pass_ms", "Unit": "Milliseconds"}]}]},
        "stream": "bird_strike",
        "request_id": "c0ffee",
        "delivered": 7.0,
        "pass_ms": 12.5,
    });
    assert_eq!(lines(&record), [expected]);
}

#[test]
fn without_dimensions_there_is_one_empty_set() {
    let lines = lines(&Record::at(-1).count("passes", 1));
    assert_eq!(lines[0]["_aws"]["CloudWatchMetrics"][0]["Dimensions"], json!([[]]));
    assert_eq!(lines[0]["_aws"]["Timestamp"], json!(-1), "a clock before 1970 rounds down");
}

#[test]
fn what_is_too_much_for_a_line_goes_on_in_the_next_and_nothing_is_lost() {
    let names: Vec<&'static str> = (0..130).map(|n| &*Box::leak(format!("m{n}").into_boxed_str())).collect();
    let mut record = Record::at(0);
    for name in &names {
        record = record.count(name, 1);
    }
    for n in 0..249 {
        record = record.value("m0", Unit::Count, f64::from(n));
    }
    for name in &names[..40] {
        record = record.dimension(Box::leak(format!("d{name}").into_boxed_str()), "x");
    }
    let lines = lines(&record);
    assert_eq!(lines.len(), 4, "100 metrics, 30 more, then twice the rest of one");
    let counted = |name: &str| -> usize {
        let count = |line: &Value| match &line[name] {
            Value::Array(values) => values.len(),
            Value::Number(_) => 1,
            _ => 0,
        };
        lines.iter().map(count).sum()
    };
    assert_eq!(counted("m0"), 250);
    assert!(names[1..].iter().all(|name| counted(name) == 1));
}

#[test]
fn odd_values_never_break_a_line() {
    let record = Record::at(0)
        .dimension("stream", "  :é\n\u{7f}\"x\\ ")
        .dimension("stream", "second")
        .dimension("empty", " \t ")
        .dimension("long", "x".repeat(5000))
        .property("note", "\u{1}\"\n".repeat(5000))
        .property("_aws", "mine")
        .property("ok", "shadowed")
        .count("stream", 1)
        .count("_aws", 1)
        .count("ok", u64::MAX)
        .value("nan", Unit::None, f64::NAN)
        .value("endless", Unit::Bytes, f64::INFINITY);
    let lines = lines(&record);
    assert_eq!(lines.len(), 1);
    assert_eq!(lines[0]["stream"], "???\"x\\");
    assert_eq!(lines[0]["empty"], "?");
    assert_eq!(lines[0]["long"].as_str().map(str::len), Some(crate::metrics::TEXT_CHARACTERS));
    assert_eq!(lines[0]["ok"], json!(u64::MAX as f64));
    assert_eq!(lines[0]["_aws"]["CloudWatchMetrics"][0]["Metrics"].as_array().map(Vec::len), Some(1));
}

#[test]
fn nothing_counted_or_switched_off_writes_nothing() {
    assert!(lines(&Record::at(0).dimension("stream", "s").property("id", "1")).is_empty());
    Metrics::off().emit(&Record::at(0).count("delivered", 1));
}

#[test]
fn threads_that_share_a_writer_never_mix_their_lines() {
    let writes = Writes::default();
    let metrics = Metrics::emf("Eventlane", writes.clone()).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            let metrics = metrics.clone();
            scope.spawn(move || (0..50).for_each(|n| metrics.emit(&Record::at(n).count("delivered", 1))));
        }
    });
    let writes = writes.0.lock().unwrap().clone();
    assert_eq!(writes.len(), 400);
    writes.iter().for_each(|write| drop(judged(write)));
}

#[test]
fn a_writer_that_fails_is_no_fault_of_the_work() {
    struct Broken;
    impl Write for Broken {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    Metrics::emf("Eventlane", Broken).unwrap().emit(&Record::at(0).count("delivered", 1));
}

#[test]
fn a_namespace_that_cloudwatch_refuses_is_refused() {
    let long = "x".repeat(256);
    for namespace in ["", "a b", "é", "AWS/Lambda", &long] {
        let error = Metrics::emf(namespace, io::sink()).err();
        assert_eq!(error, Some(MetricsError::Namespace), "{namespace}");
    }
    assert!(Metrics::emf("Shop/Events-2", io::sink()).is_ok());
}

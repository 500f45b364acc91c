//! Metrics: one JSON line a record, in CloudWatch's embedded metric format, which Lambda's log turns
//! into metrics without a call.
//!
//! A caller counts for the length of an invocation or a request and emits one [`Record`] at its end.
//! Each line is one write, so lines of several threads never mix, and keeps the format's limits: what
//! is too much for one line goes on in the next. A metric is never worth a failure: what can't be
//! written is dropped.

use std::borrow::Cow;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value, json};

use crate::MetricsError;

/// Dimensions of a record. Source: the format's `DimensionSet`.
pub const DIMENSIONS: usize = 30;
/// Metrics of one line. Source: the format's `MetricDirective`.
pub const METRICS_A_LINE: usize = 100;
/// Values of one metric in one line. Source: the format's target members.
pub const VALUES_A_METRIC: usize = 100;
/// Characters of a namespace. Source: CloudWatch's `PutMetricData`.
pub const NAMESPACE_CHARACTERS: usize = 255;
/// Characters of a dimension's value and of a property; longer ones are cut. CloudWatch takes 1,024,
/// but a dimension that long is a mistake, and each of its values is a metric to pay for.
pub const TEXT_CHARACTERS: usize = 128;

/// What a value is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// How many.
    Count,
    /// Thousandths of a second.
    Milliseconds,
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// None of these.
    None,
}

impl Unit {
    fn name(self) -> &'static str {
        match self {
            Unit::Count => "Count",
            Unit::Milliseconds => "Milliseconds",
            Unit::Seconds => "Seconds",
            Unit::Bytes => "Bytes",
            Unit::None => "None",
        }
    }
}

/// Where metrics go. Clones share the writer.
#[derive(Clone)]
pub struct Metrics(Option<Arc<Sink>>);

struct Sink {
    namespace: String,
    writer: Mutex<Box<dyn Write + Send>>,
}

impl Metrics {
    /// Nowhere.
    #[must_use]
    pub fn off() -> Self {
        Self(None)
    }

    /// As lines of the embedded metric format on this writer, stdout in a Lambda function.
    ///
    /// # Errors
    /// [`MetricsError::Namespace`] when CloudWatch would not take the namespace.
    pub fn emf(namespace: &str, writer: impl Write + Send + 'static) -> Result<Self, MetricsError> {
        let taken = |c: char| c.is_ascii_alphanumeric() || ".-_/#:".contains(c);
        let fits = (1..=NAMESPACE_CHARACTERS).contains(&namespace.len()) && namespace.chars().all(taken);
        if !fits || namespace.starts_with("AWS/") {
            return Err(MetricsError::Namespace);
        }
        let writer: Box<dyn Write + Send> = Box::new(writer);
        Ok(Self(Some(Arc::new(Sink { namespace: namespace.to_owned(), writer: Mutex::new(writer) }))))
    }

    /// Writes a record; one without values is none.
    pub fn emit(&self, record: &Record) {
        let Some(sink) = &self.0 else { return };
        for line in record.lines(&sink.namespace) {
            // A panic while writing leaves at worst half a line.
            let mut writer = sink.writer.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = writer.write_all(line.as_bytes()).and_then(|()| writer.flush());
        }
    }
}

/// What happened in one invocation or request.
///
/// All names share one line, `_aws` is the format's own. Where two are the same a dimension stands
/// before a metric, and that before a property.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    at_ms: i64,
    dimensions: Vec<(&'static str, String)>,
    metrics: Vec<Metric>,
    properties: Vec<(&'static str, String)>,
}

#[derive(Debug, Clone, PartialEq)]
struct Metric {
    name: &'static str,
    unit: Unit,
    values: Vec<f64>,
}

impl Record {
    /// A record of this time, unix microseconds.
    #[must_use]
    pub fn at(now_us: i64) -> Self {
        Self { at_ms: now_us.div_euclid(1000), dimensions: vec![], metrics: vec![], properties: vec![] }
    }

    /// Tells its metrics apart, in CloudWatch too: each value of a dimension is a metric of its own, so
    /// values must be few. At most [`DIMENSIONS`]; more are dropped.
    #[must_use]
    pub fn dimension(mut self, name: &'static str, value: impl Into<Cow<'static, str>>) -> Self {
        if self.dimensions.len() < DIMENSIONS && self.dimensions.iter().all(|(known, _)| *known != name) {
            self.dimensions.push((name, dimension_value(&value.into())));
        }
        self
    }

    /// How many times something happened.
    #[must_use]
    pub fn count(self, name: &'static str, count: u64) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "exact up to 2^53, and CloudWatch keeps doubles")]
        self.value(name, Unit::Count, count as f64)
    }

    /// A value; again under the same name it is one more value of that metric, in its first unit. What
    /// is no number in JSON (NaN, infinite) is dropped.
    #[must_use]
    pub fn value(mut self, name: &'static str, unit: Unit, value: f64) -> Self {
        if value.is_finite() {
            match self.metrics.iter_mut().find(|metric| metric.name == name) {
                Some(metric) => metric.values.push(value),
                None => self.metrics.push(Metric { name, unit, values: vec![value] }),
            }
        }
        self
    }

    /// Stands in the line for a search, and makes no metric: a request's id.
    #[must_use]
    pub fn property(mut self, name: &'static str, value: impl Into<Cow<'static, str>>) -> Self {
        self.properties.push((name, value.into().chars().take(TEXT_CHARACTERS).collect()));
        self
    }

    /// The lines, each within the format's limits.
    fn lines(&self, namespace: &str) -> Vec<String> {
        let rounds = self.metrics.iter().map(|metric| metric.values.len().div_ceil(VALUES_A_METRIC)).max();
        let mut lines = Vec::new();
        for round in 0..rounds.unwrap_or(0) {
            let values = self.metrics.iter().filter_map(|metric| {
                Some((metric.name, metric.unit, metric.values.chunks(VALUES_A_METRIC).nth(round)?))
            });
            let values: Vec<_> = values.filter(|(name, ..)| self.is_free(name)).collect();
            lines.extend(values.chunks(METRICS_A_LINE).map(|chunk| self.line(namespace, chunk)));
        }
        lines
    }

    fn is_free(&self, name: &str) -> bool {
        name != "_aws" && self.dimensions.iter().all(|(dimension, _)| *dimension != name)
    }

    fn line(&self, namespace: &str, values: &[(&'static str, Unit, &[f64])]) -> String {
        let mut root = Map::new();
        for (name, value) in &self.properties {
            root.insert((*name).to_owned(), json!(value));
        }
        for (name, _, values) in values {
            let value = if let [one] = values { json!(one) } else { json!(values) };
            root.insert((*name).to_owned(), value);
        }
        for (name, value) in &self.dimensions {
            root.insert((*name).to_owned(), json!(value));
        }
        let names: Vec<&str> = self.dimensions.iter().map(|(name, _)| *name).collect();
        let metrics: Vec<Value> =
            values.iter().map(|(name, unit, _)| json!({"Name": name, "Unit": unit.name()})).collect();
        root.insert(
            "_aws".to_owned(),
            json!({
                "Timestamp": self.at_ms,
                "CloudWatchMetrics": [{"Namespace": namespace, "Dimensions": [names], "Metrics": metrics}],
            }),
        );
        format!("{}\n", Value::Object(root))
    }
}

/// CloudWatch takes printable ASCII with something to see in it; the rest of a value reads `?`.
fn dimension_value(value: &str) -> String {
    let clean = value.chars().map(|c| if c == ' ' || c.is_ascii_graphic() { c } else { '?' });
    let clean: String = clean.take(TEXT_CHARACTERS).collect();
    // A colon in front has a meaning of its own.
    let clean = clean.trim().trim_start_matches(':').trim_start();
    if clean.is_empty() { "none".to_owned() } else { clean.to_owned() }
}

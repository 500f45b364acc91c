//! What a measurement says.

use std::fmt;
use std::process::Command;

/// One figure, beside the limit it approaches.
#[derive(Debug, serde::Serialize)]
pub(crate) struct Figure {
    /// The measurement's name.
    pub(crate) name: &'static str,
    /// The absolute value, for orientation only.
    pub(crate) value: f64,
    /// The value's unit.
    pub(crate) unit: &'static str,
    /// The part under measure, divided by what it is measured against.
    pub(crate) ratio: Option<f64>,
    /// The reach, as a bound on the ratio.
    pub(crate) reach: &'static str,
    /// Half the distance between the 10th and the 90th percentile of the rounds' ratios.
    pub(crate) spread: Option<f64>,
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, value, unit, ratio, reach, spread } = self;
        let number = |number: &Option<f64>| number.map_or("n/a".to_owned(), |number| format!("{number:.2}"));
        write!(f, "{name:16} {:>8} (± {}) reach {reach:6} {value:.1} {unit}", number(ratio), number(spread))
    }
}

/// The machine and the commit, as far as they can be told.
pub(crate) fn machine() -> String {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or(": unknown processor");
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let commit = Command::new("git").args(["rev-parse", "--short", "HEAD"]).output();
    let commit = commit.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    format!(
        "{} ({cores} cores), commit {}",
        model.trim_start_matches(['\t', ' ', ':']),
        commit.ok().filter(|commit| !commit.is_empty()).unwrap_or("unknown".to_owned())
    )
}

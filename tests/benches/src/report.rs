//! What a measurement says, and where it was said.

use std::fmt;
use std::process::Command;

use serde::{Serialize, Serializer};

/// One figure, beside the limit it approaches.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Figure {
    /// The measurement's name.
    pub(crate) name: &'static str,
    /// The absolute value, for orientation only.
    pub(crate) value: f64,
    /// The value's unit.
    pub(crate) unit: &'static str,
    /// The part under measure, divided by what it is measured against; `None` where that says nothing
    /// on this machine.
    pub(crate) ratio: Option<f64>,
    /// The reach, as a bound on the ratio.
    pub(crate) reach: Reach,
    /// Half the distance between the 10th and the 90th percentile of the rounds' ratios.
    pub(crate) spread: Option<f64>,
    /// What was compared with what, and what else is worth knowing; for people.
    #[serde(skip)]
    pub(crate) note: String,
}

/// What a figure's ratio should stay within.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Reach {
    AtMost(f64),
    AtLeast(f64),
    /// A value of at most so many MiB, and none of it growth.
    Memory(f64),
    /// Only stated.
    Stated,
}

/// Growth below this is how allocators breathe.
const GROWTH: f64 = 1.05;

impl Figure {
    /// Whether the reach is held; `None` when there is nothing to hold on this machine.
    pub(crate) fn is_held(&self) -> Option<bool> {
        match self.reach {
            Reach::AtMost(most) => Some(self.ratio? <= most),
            Reach::AtLeast(least) => Some(self.ratio? >= least),
            Reach::Memory(mib) => Some(self.value <= mib && self.ratio? <= GROWTH),
            Reach::Stated => None,
        }
    }

    fn mark(&self) -> &'static str {
        match self.is_held() {
            Some(true) => "held",
            Some(false) => "out",
            None => "",
        }
    }
}

impl fmt::Display for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtMost(most) => write!(f, "<= {most}"),
            Self::AtLeast(least) => write!(f, ">= {least}"),
            Self::Memory(mib) => write!(f, "<= {mib} MiB, no growth"),
            Self::Stated => f.write_str("stated"),
        }
    }
}

impl Serialize for Reach {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, value, unit, reach, .. } = self;
        let (ratio, spread) = (number(self.ratio), number(self.spread));
        write!(
            f,
            "{name:17} {ratio:>7} ± {spread:<6} reach {:24} {:5} {} {unit}",
            reach.to_string(),
            self.mark(),
            rounded(*value)
        )
    }
}

/// A row of the table in `docs/performance.md`.
pub(crate) fn markdown(figure: &Figure) -> String {
    let Figure { name, value, unit, ratio, reach, spread, note } = figure;
    let mark = match figure.mark() {
        "out" => " (**out**)",
        _ => "",
    };
    let reach = reach.to_string().replace("<=", "≤").replace(">=", "≥");
    format!(
        "| `{name}` | {}{mark} | {} | {reach} | {} {unit} | {note} |",
        number(*ratio),
        number(*spread),
        rounded(*value)
    )
}

fn number(number: Option<f64>) -> String {
    number.map_or("n/a".to_owned(), |number| format!("{number:.2}"))
}

/// Three digits say all that a noisy machine knows.
fn rounded(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        1000.0.. => format!("{:.0}", value / 10f64.powf(value.abs().log10().floor() - 2.0))
            .parse::<f64>()
            .map_or_else(
                |_| value.to_string(),
                |digits| format!("{:.0}", digits * 10f64.powf(value.abs().log10().floor() - 2.0)),
            ),
        100.0.. => format!("{value:.0}"),
        10.0.. => format!("{value:.1}"),
        1.0.. => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}

/// The machine and the commit, as far as they can be told.
pub(crate) fn machine() -> String {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or(": unknown processor");
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let commit = git(&["rev-parse", "--short", "HEAD"]).unwrap_or("unknown".to_owned());
    let is_changed = git(&["status", "--porcelain", "--untracked-files=no"]).is_some();
    format!(
        "{} ({cores} cores), commit {commit}{}",
        model.trim_start_matches(['\t', ' ', ':']),
        if is_changed { " with changes" } else { "" }
    )
}

/// What git prints; `None` when that is nothing.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    (output.status.success() && !text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(value: f64, ratio: Option<f64>, reach: Reach) -> Figure {
        Figure { name: "x", value, unit: "", ratio, reach, spread: None, note: String::new() }
    }

    #[test]
    fn a_reach_is_held_out_or_says_nothing() {
        for (ratio, reach, held) in [
            (Some(5.0), Reach::AtMost(5.0), Some(true)),
            (Some(5.1), Reach::AtMost(5.0), Some(false)),
            (Some(6.0), Reach::AtLeast(6.0), Some(true)),
            (Some(5.9), Reach::AtLeast(6.0), Some(false)),
            (None, Reach::AtLeast(6.0), None),
            (Some(9.0), Reach::Stated, None),
            (Some(1.01), Reach::Memory(64.0), Some(true)),
            (Some(1.5), Reach::Memory(64.0), Some(false)),
        ] {
            assert_eq!(figure(10.0, ratio, reach).is_held(), held, "{ratio:?} {reach}");
        }
        assert_eq!(figure(65.0, Some(1.0), Reach::Memory(64.0)).is_held(), Some(false));
    }

    #[test]
    fn json_has_the_six_keys_alone() {
        let json = serde_json::to_value(figure(1.0, None, Reach::AtMost(1.15))).unwrap();
        let keys: Vec<&String> = json.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["name", "ratio", "reach", "spread", "unit", "value"]);
        assert_eq!(json["reach"], "<= 1.15");
    }

    #[test]
    fn values_are_rounded_to_three_digits() {
        for (value, text) in
            [(0.0, "0"), (1_234_567.0, "1230000"), (123.4, "123"), (12.34, "12.3"), (0.01234, "0.0123")]
        {
            assert_eq!(rounded(value), text);
        }
    }
}

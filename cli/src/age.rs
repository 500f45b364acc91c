//! Ages as people write and read them: `90s`, `15m`, `2h`, `3d`.

use std::time::Duration;

/// Reads an age.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    let fault = || format!("{text} is no age; write 90s, 15m, 2h or 3d");
    let unit = text.chars().last().ok_or_else(fault)?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3_600,
        'd' => 86_400,
        _ => return Err(fault()),
    };
    let count: u64 = text[..text.len() - 1].parse().map_err(|_| fault())?;
    count.checked_mul(seconds).map(Duration::from_secs).ok_or_else(fault)
}

/// Writes an age in its largest whole unit.
pub(crate) fn show(age: Duration) -> String {
    let seconds = age.as_secs();
    match seconds {
        0..=119 => format!("{seconds}s"),
        120..=7_199 => format!("{}m", seconds / 60),
        7_200..=172_799 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_read_and_written() {
        for (text, seconds) in [("0s", 0), ("90s", 90), ("15m", 900), ("2h", 7_200), ("3d", 259_200)] {
            assert_eq!(parse(text), Ok(Duration::from_secs(seconds)));
        }
        for text in ["", "s", "5", "-1s", "1w", "1é", "99999999999999999999d"] {
            assert!(parse(text).is_err(), "{text}");
        }
        let shown = [90, 900, 7_200, 259_200].map(|seconds| show(Duration::from_secs(seconds)));
        assert_eq!(shown, ["90s", "15m", "2h", "3d"]);
    }
}

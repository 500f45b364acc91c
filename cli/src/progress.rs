//! The progress bar: on a terminal's stderr, and nowhere else.

use indicatif::{ProgressBar, ProgressStyle};

/// A bar over `events` events.
pub(crate) fn bar(events: u64, what: &'static str) -> ProgressBar {
    let bar = ProgressBar::new(events).with_message(what);
    match ProgressStyle::with_template("{msg:>10} {bar:40} {human_pos}/{human_len} events {per_sec}") {
        Ok(style) => bar.with_style(style),
        // A bar in the default style is still a bar.
        Err(_) => bar,
    }
}

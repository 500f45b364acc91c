//! The settings of what web pages may send; `docs/wire.md` says more.
//!
//! | variable | what |
//! | --- | --- |
//! | `EVENTLANE_CORS_ORIGINS` | origins whose pages may send, with commas, or `*`; no cross-origin requests if not set |
//! | `EVENTLANE_CORS_METHODS`, `EVENTLANE_CORS_HEADERS` | what such pages may use, with commas |
//! | `EVENTLANE_CORS_MAX_AGE_SECONDS` | seconds a browser may remember that, 0 to 86400; 7200 if not set |

use eventlane_ingest::{Cors, CorsSettings};

use super::number;

/// Reads and judges what pages may send; every offender is added to `faults`.
pub(crate) fn read(set: impl Fn(&str) -> Option<String>, faults: &mut Vec<String>) -> Option<Cors> {
    let list = |name: &str| -> Vec<String> {
        let text = set(name).unwrap_or_default();
        text.split(',').map(str::trim).filter(|item| !item.is_empty()).map(str::to_owned).collect()
    };
    let max_age_seconds = number(&set, "EVENTLANE_CORS_MAX_AGE_SECONDS", "seconds from 0 to 86400", faults);
    let settings = CorsSettings {
        origins: list("EVENTLANE_CORS_ORIGINS"),
        methods: list("EVENTLANE_CORS_METHODS"),
        headers: list("EVENTLANE_CORS_HEADERS"),
        max_age_seconds,
    };
    // Settings without an origin are judged too: they were meant to do something.
    if settings == CorsSettings::default() {
        return None;
    }
    Cors::new(&settings).inspect_err(|error| faults.extend(error.offenders().iter().cloned())).ok()
}

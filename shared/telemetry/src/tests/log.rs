//! The log: neither a secret nor others' chatter.

use std::process::Command;

use tracing::Level;

use crate::{Format, LEVEL, init};

/// Set in the child that the test starts itself as.
const CHILD: &str = "EVENTLANE_TEST_CHILD";

#[test]
fn neither_a_panics_text_nor_anothers_chatter_is_written() {
    if std::env::var_os(CHILD).is_some() {
        init(Format::Text, Level::WARN);
        tracing::trace!(target: "lambda_runtime", "s3cret request");
        tracing::debug!(target: "eventlane_ingest", "our own line");
        tracing::warn!(target: "hyper", "a warning of others");
        let _ = std::panic::catch_unwind(|| panic!("s3cret payload"));
        return;
    }
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "tests::log::neither_a_panics_text_nor_anothers_chatter_is_written", "--nocapture"])
        .env(CHILD, "1")
        .env(LEVEL, "trace")
        .output()
        .unwrap();
    let written =
        format!("{:?} {:?}", String::from_utf8_lossy(&child.stdout), String::from_utf8_lossy(&child.stderr));
    assert!(child.status.success(), "{written}");
    assert!(!written.contains("s3cret"), "{written}");
    for part in ["our own line", "a warning of others", "panicked", "src/tests/log.rs"] {
        assert!(written.contains(part), "{part} is missing in {written}");
    }
}

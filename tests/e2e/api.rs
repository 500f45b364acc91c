//! The document of the wire against the server it describes, tried by a generator of requests.

use std::process::Command;

use crate::support::embedded::Embedded;
use crate::support::{Lane, token};

/// The interpreter that Schemathesis is installed for; `cargo xtask test` sets it.
const PYTHON: &str = "EVENTLANE_TEST_SCHEMATHESIS";

/// Requests made up for each operation; `cargo xtask fuzz api` sets more.
const EXAMPLES: &str = "EVENTLANE_API_EXAMPLES";

#[test]
fn schemathesis_finds_no_answer_that_the_document_does_not_describe() {
    let python =
        std::env::var(PYTHON).expect("EVENTLANE_TEST_SCHEMATHESIS is not set: run `cargo xtask test`");
    let examples = std::env::var(EXAMPLES).unwrap_or_else(|_| "200".to_owned());
    let folder = tempfile::tempdir().unwrap();
    let lane = Embedded::start(folder.path(), &[]);
    let origin = lane.url().replace("/api/events", "");
    let tests = concat!(env!("CARGO_MANIFEST_DIR"), "/api");
    let report = folder.path().join("report.json");
    let run = Command::new(python)
        .args([
            "-m",
            "schemathesis.cli",
            "--config-file",
            concat!(env!("CARGO_MANIFEST_DIR"), "/api/schemathesis.toml"),
        ])
        .arg("run")
        .arg(format!("{origin}/openapi.json"))
        .args(["--header", &format!("Authorization: Bearer {}", token(&lane))])
        .args(["--max-examples", &examples, "--seed", "1", "--generation-database", "none", "--no-color"])
        .args(["--checks", "all", "--report", "json", "--report-json-path", report.to_str().unwrap()])
        .env("SCHEMATHESIS_HOOKS", "hooks")
        .env("PYTHONPATH", tests)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .current_dir(folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "{said}\n{}", String::from_utf8_lossy(&run.stderr));
    // That nothing was tried would be a success too.
    assert!(report.is_file(), "{said}");
    println!("{said}");
}

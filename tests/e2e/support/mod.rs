//! What the tests share: the two kinds of lane, and a way to post to them.

pub(crate) mod aws;
pub(crate) mod deployed;
pub(crate) mod embedded;
pub(crate) mod function;
pub(crate) mod gateway;
pub(crate) mod post;
pub(crate) mod template;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use eventlane_testkit::process::binary;

/// Longest wait for another process. Nothing takes near as long; it only ends a hang.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// An event as the archive holds it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Archived {
    pub(crate) stream: String,
    pub(crate) event_id: String,
    pub(crate) payload: String,
}

/// A lane under test.
pub(crate) trait Lane {
    /// The route that takes events.
    fn url(&self) -> String;

    /// The secret that signs its tokens.
    fn secret(&self) -> String;

    /// Drains what was acked until no queue holds anything, then reads the whole archive.
    fn archived(&self) -> Vec<Archived>;
}

/// A token for `sub` with a person id.
pub(crate) fn token(lane: &dyn Lane) -> String {
    let claims = serde_json::json!({
        "sub": "tester", "app_metadata": {"person_id": 7}, "exp": eventlane_testkit::tokens::FAR_EXPIRY
    });
    eventlane_testkit::tokens::hs256_with(lane.secret().as_bytes(), &claims)
}

pub(crate) fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name)
}

/// `eventlane` with these arguments, its environment free of ours.
pub(crate) fn eventlane(arguments: &[&str]) -> Command {
    let mut command = Command::new(binary("eventlane"));
    command.args(arguments).env_remove("EVENTLANE_TOKEN").env_remove("RUST_BACKTRACE");
    command
}

/// Sends a file of JSON lines into a lane, through an outbox in `folder`.
pub(crate) fn send(lane: &dyn Lane, folder: &Path, stream: &str, file: &Path) -> Output {
    let outbox = folder.join("outbox.db");
    let (outbox, file, url) = (outbox.to_str().unwrap(), file.to_str().unwrap(), lane.url());
    eventlane(&["send", "--stream", stream, "--outbox", outbox, "--url", &url, file])
        .env("EVENTLANE_TOKEN", token(lane))
        .output()
        .unwrap()
}

/// An earthquake with some fields' texts replaced, compact.
pub(crate) fn earthquake(replaced: &[(&str, &str)]) -> String {
    let fields = [
        ("id", "\"x\""),
        ("mag", "1"),
        ("place", "null"),
        ("time", "1"),
        ("updated", "1"),
        ("tz", "null"),
        ("url", "\"https://example.com/\""),
        ("detail", "\"https://example.com/\""),
        ("felt", "null"),
        ("cdi", "null"),
        ("mmi", "null"),
        ("alert", "null"),
        ("status", "\"x\""),
        ("tsunami", "0"),
        ("sig", "0"),
        ("net", "\"x\""),
        ("code", "\"x\""),
        ("ids", "\"x\""),
        ("sources", "\"x\""),
        ("types", "\"x\""),
        ("nst", "null"),
        ("dmin", "null"),
        ("rms", "null"),
        ("gap", "null"),
        ("magType", "null"),
        ("type", "\"x\""),
        ("title", "\"x\""),
        ("coordinates", "[0,0,0]"),
    ];
    let field = |(name, value): &(&str, &str)| {
        let value = replaced.iter().find(|(changed, _)| changed == name).map_or(*value, |(_, text)| *text);
        format!("\"{name}\":{value}")
    };
    format!("{{{}}}", fields.iter().map(field).collect::<Vec<_>>().join(","))
}

/// Asks again and again until it holds; another process makes it so.
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "{what} did not come about within {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

//! The release ingest's start and size, against a minimal function that is built the same way.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use eventlane_contracts::SystemClock;
use eventlane_contracts::wire::EVENTS_PATH;
use eventlane_testkit::envelopes::{Event, batch};
use eventlane_testkit::runtime_api::RuntimeApi;
use eventlane_testkit::scripted_sqs::ScriptedSqs;
use eventlane_testkit::tokens;
use serde_json::{Value, json};

use crate::append::PAYLOAD;
use crate::ingest::token;
use crate::measure::rounds;
use crate::report::{Figure, Reach};

/// Starts of each, in turn.
const STARTS: usize = 41;

const PATIENCE: Duration = Duration::from_secs(30);

/// Process start to first answered event, an event that is queued by then.
pub(crate) fn cold_start() -> anyhow::Result<Figure> {
    let [ingest, minimal] = ["ingest", "minimal"].map(binary);
    let (ingest, minimal) = (ingest?, minimal?);
    let sqs = ScriptedSqs::start(Arc::new(SystemClock), ["lane-issue_viewed"]);
    let event = event(&batch(&[Event::new(1, "issue_viewed", PAYLOAD)]));
    let measured = rounds(
        STARTS,
        || start(&ingest, &sqs, &event, "\"acked\"").expect("the ingest answers"),
        || start(&minimal, &sqs, &event, "{}").expect("the minimal function answers"),
    );
    ensure!(sqs.messages("lane-issue_viewed").len() == 2 * (STARTS + 1), "an answer without a message");
    Ok(Figure {
        name: "cold_start",
        value: measured.part.as_secs_f64() * 1e3,
        unit: "ms",
        ratio: Some(measured.ratio),
        reach: Reach::AtMost(1.5),
        spread: Some(measured.spread),
        note: format!("{STARTS} starts of each; minimal function {:.1?}", measured.limit),
    })
}

pub(crate) fn bundle_size() -> anyhow::Result<Figure> {
    let [ingest, minimal] = ["ingest", "minimal"].map(|name| stripped_bytes(&binary(name)?));
    let (ingest, minimal) = (ingest? as f64, minimal? as f64);
    Ok(Figure {
        name: "bundle_size",
        value: ingest / 1e6,
        unit: "MB, stripped",
        ratio: Some(ingest / minimal),
        reach: Reach::AtMost(1.5),
        spread: Some(0.0),
        note: format!("minimal function {:.2} MB", minimal / 1e6),
    })
}

/// Time from the spawn to the answer of the event that already waits.
fn start(binary: &Path, sqs: &ScriptedSqs, event: &Value, wanted: &str) -> anyhow::Result<Duration> {
    let api = RuntimeApi::start();
    let invocation = api.invoke(event, PATIENCE);
    let mut command = Command::new(binary);
    command
        .env_clear()
        .envs(api.environment("bench"))
        .env("AWS_REGION", "us-east-1")
        .env("AWS_ACCESS_KEY_ID", "bench")
        .env("AWS_SECRET_ACCESS_KEY", "bench")
        .env("AWS_ENDPOINT_URL", sqs.url())
        .env("EVENTLANE_QUEUE_URL_PREFIX", sqs.queue_url("lane"))
        .env("EVENTLANE_HS256_SECRET", tokens::HS256_SECRET)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    let started = Instant::now();
    let _process = Ended(command.spawn().with_context(|| format!("start {}", binary.display()))?);
    let answer = invocation.response(PATIENCE);
    let took = started.elapsed();
    let body = answer["body"].as_str().unwrap_or_default();
    ensure!(answer["statusCode"] == 200 && body.contains(wanted), "an answer that is not wanted: {answer}");
    Ok(took)
}

/// A process that doesn't outlive its measurement.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        // One that has ended already can't be killed again.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What API Gateway makes of the batch.
fn event(body: &str) -> Value {
    let text = include_str!("../../fixtures/gateway/http-api-v2.json");
    let mut event: Value = serde_json::from_str(text).unwrap_or_default();
    event["rawPath"] = EVENTS_PATH.into();
    event["requestContext"]["http"]["path"] = EVENTS_PATH.into();
    event["headers"] = json!({
        "authorization": format!("Bearer {}", token()), "content-type": "application/json",
        "content-length": body.len().to_string(), "host": "lane.example.com"
    });
    event["body"] = body.into();
    event["isBase64Encoded"] = false.into();
    event
}

/// A function's release binary, which stands beside this program.
pub(crate) fn binary(name: &str) -> anyhow::Result<PathBuf> {
    let here = std::env::current_exe()?.with_file_name(name);
    if !here.exists() {
        bail!("{} is not built; `cargo xtask bench` builds it", here.display());
    }
    Ok(here)
}

/// The size of a copy without symbols, as it would be deployed.
fn stripped_bytes(binary: &Path) -> anyhow::Result<u64> {
    let folder = tempfile::tempdir()?;
    let copy = folder.path().join("stripped");
    let strip = Command::new("strip").arg("--strip-all").arg("-o").arg(&copy).arg(binary).status();
    let status = strip.context("run strip, of the C compiler's binutils")?;
    ensure!(status.success(), "strip failed: {status}");
    Ok(std::fs::metadata(copy)?.len())
}

//! The resident memory of a running ingest under as many full requests at once as it may get.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::sync::Barrier;
use std::time::Duration;

use anyhow::{Context, ensure};
use eventlane_contracts::limits::{BATCH_EVENTS, BODY_BYTES};
use eventlane_contracts::wire::EVENTS_PATH;
use eventlane_testkit::envelopes::{Event, batch};
use eventlane_testkit::process::{Process, binary};
use eventlane_testkit::tokens;
use serde_json::{Value, json};

use crate::measure::float;
use crate::report::{Figure, Reach};

/// Requests at once.
const REQUESTS: usize = 64;

/// MiB that may be resident: 64 for the process, and for each request its body three times over: as
/// read, as events, as messages.
const MOST_MIB: usize = 64 + REQUESTS * 3 * (BODY_BYTES / 1_048_576);

/// Longest wait for the process; it only ends a hang.
const PATIENCE: Duration = Duration::from_secs(300);

/// Every request has sent all but its last byte before any sends that: all bodies are held at once.
pub(crate) fn memory() -> anyhow::Result<Figure> {
    let folder = tempfile::tempdir()?;
    let data = folder.path().to_str().context("a folder whose name is text")?;
    let mut up = Command::new(binary("eventlane"));
    let mut up = Process::start(up.args(["up", "--listen", "127.0.0.1:0", "--data", data]));
    let line = up.line_with("listening on", PATIENCE);
    let address = line.rsplit("http://").next().and_then(|rest| rest.split('/').next());
    let address: SocketAddr = address.context("the lane says where it listens")?.parse()?;
    let secret = std::fs::read_to_string(folder.path().join("dev-secret"))?;
    let claims = json!({"sub": "u1", "app_metadata": {"person_id": 7}, "exp": tokens::FAR_EXPIRY});
    let token = tokens::hs256_with(secret.as_bytes(), &claims);
    let body = full_batch()?;
    let all_are_here = Barrier::new(REQUESTS);
    let acked = std::thread::scope(|scope| {
        let requests: Vec<_> =
            (0..REQUESTS).map(|_| scope.spawn(|| request(address, &token, &body, &all_are_here))).collect();
        requests.into_iter().map(|request| request.join().unwrap_or(Ok(0))).sum::<anyhow::Result<usize>>()
    })?;
    ensure!(acked == REQUESTS * BATCH_EVENTS, "{acked} events were acked: what is measured has to be right");
    let peak = peak_mib(up.id())?;
    Ok(Figure {
        name: "ingest_concurrent",
        value: peak,
        unit: "MiB resident at most",
        ratio: Some(peak / float(MOST_MIB)),
        reach: Reach::AtMost(1.0),
        spread: None,
        note: format!("{REQUESTS} requests of 4 MiB at once, against {MOST_MIB} MiB"),
    })
}

/// As many events as a batch takes, as large as its body may be.
fn full_batch() -> anyhow::Result<String> {
    let line = include_str!("../../fixtures/streams/earthquake.jsonl").lines().next().context("a record")?;
    let mut payload: Value = serde_json::from_str(line)?;
    let with = |payload: &Value| {
        let text = payload.to_string();
        batch(&(0..1000).map(|n| Event::new(n, "earthquake", text.clone())).collect::<Vec<_>>())
    };
    payload["types"] = "".into();
    let room = (BODY_BYTES - with(&payload).len()) / BATCH_EVENTS;
    payload["types"] = format!("{}{}", "\u{1D11E}".repeat(room / 4), "x".repeat(room % 4)).into();
    let body = with(&payload);
    ensure!(body.len() <= BODY_BYTES && body.len() > BODY_BYTES - 2 * BATCH_EVENTS, "{} bytes", body.len());
    Ok(body)
}

/// Sends one request; the events that were acked.
fn request(address: SocketAddr, token: &str, body: &str, all_are_here: &Barrier) -> anyhow::Result<usize> {
    let sent = (|| {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        write!(
            stream,
            "POST {EVENTS_PATH} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
             Authorization: Bearer {token}\r\nContent-Length: {}\r\n\r\n",
            body.len()
        )?;
        stream.write_all(&body.as_bytes()[..body.len() - 1])?;
        anyhow::Ok(stream)
    })();
    // Whoever fails comes here too: the others would wait for ever.
    all_are_here.wait();
    let mut stream = sent?;
    stream.write_all(&body.as_bytes()[body.len() - 1..])?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    ensure!(answer.starts_with("HTTP/1.1 200"), "{}", answer.lines().next().unwrap_or_default());
    Ok(answer.matches("\"acked\"").count())
}

/// The most that was ever resident, in MiB.
fn peak_mib(process: u32) -> anyhow::Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))
        .context("resident memory is read from /proc")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("VmHWM is missing")?;
    let kib: f64 = line.trim().trim_end_matches(" kB").trim().parse()?;
    Ok(kib / 1024.0)
}

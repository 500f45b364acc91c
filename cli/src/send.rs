//! `send`: JSON lines into an outbox, then a flush until the server has judged them.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use eventlane_contracts::wire::EVENTS_PATH;
use eventlane_outbox::{
    Credentials, FlushOptions, FlushReport, Flusher, HttpTransport, LaneFault, Outbox, OutboxOptions,
    PassEnd, TokenError,
};
use serde_json::Map;

use crate::folder::{self, DataFolder};
use crate::hooks::say;
use crate::{progress, token};

/// Lines appended in one go.
const CHUNK_LINES: usize = 1000;

/// Bytes after which a chunk is full; with [`LINE_BYTES`] it bounds the memory.
const CHUNK_BYTES: usize = 4_194_304;

/// Longest line read, in bytes. A payload of 64 KiB with generous white space fits.
const LINE_BYTES: usize = 1_048_576;

/// The token to send with, when it is not a dev token.
const TOKEN: &str = "EVENTLANE_TOKEN";

#[derive(clap::Args)]
pub(crate) struct Options {
    /// The stream that every line goes to
    #[arg(long)]
    stream: String,
    /// Where lines wait for the server; outbox.db in the data folder if not given
    #[arg(long)]
    outbox: Option<PathBuf>,
    /// The lane's route
    #[arg(long, default_value_t = format!("http://127.0.0.1:8787{EVENTS_PATH}"))]
    url: String,
    /// The data folder whose dev-secret signs a token when EVENTLANE_TOKEN is not set
    #[arg(long, default_value = folder::DEFAULT)]
    data: PathBuf,
    /// JSON lines; `-` reads stdin
    file: PathBuf,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let registry = Arc::new(eventlane_lane::registry()?);
    let transport = Arc::new(HttpTransport::new(&options.url)?);
    if registry.stream(&options.stream).is_none() {
        let known: Vec<&str> = registry.streams().map(|stream| stream.name().as_str()).collect();
        bail!("stream {:?} is unknown; known are {}", options.stream, known.join(", "));
    }
    let input = open(&options.file)?;
    let path = match &options.outbox {
        Some(path) => path.clone(),
        None => DataFolder::create(&options.data)?.outbox(),
    };
    let credentials = credentials(&options.data)?;
    let outbox = Outbox::open(&path, registry, OutboxOptions::default())
        .with_context(|| format!("outbox {}", path.display()))?;

    let appended = append(&outbox, &options.stream, input, &options.file)?;
    let flusher = Flusher::new(outbox, FlushOptions::default(), transport, Arc::new(credentials))?;
    let sent = flush(&flusher)?;
    say(&format!(
        "{} appended; {} acked, {} refused, {} rejected, {} deferred",
        appended.events, sent.acked, sent.refused, sent.rejected, sent.deferred
    ))?;
    let left = flusher.outbox().pending()?;
    let waiting = || format!("{left} events wait in {} for the next send", path.display());
    let mut troubles: Vec<String> = appended.refusal.into_iter().collect();
    match sent.trouble {
        Some(trouble) => troubles.push(format!("{trouble}; {}", waiting())),
        None if left > 0 => troubles.push(waiting()),
        None if sent.refused + sent.rejected > 0 => troubles.push(format!(
            "the server took not every event: {} refused, {} rejected ({})",
            sent.refused, sent.rejected, sent.first_reason
        )),
        None => {}
    }
    if troubles.is_empty() { Ok(()) } else { bail!("{}", troubles.join("; ")) }
}

fn open(file: &Path) -> anyhow::Result<Box<dyn BufRead>> {
    if file == Path::new("-") {
        return Ok(Box::new(io::stdin().lock()));
    }
    let shown = file.display();
    let opened = File::open(file).with_context(|| format!("file {shown} can't be read"))?;
    if opened.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        bail!("file {shown} is a folder");
    }
    Ok(Box::new(BufReader::new(opened)))
}

/// The token of the environment, else a fresh dev token each time one is asked for.
fn credentials(
    data: &Path,
) -> anyhow::Result<impl Fn(bool) -> Result<Credentials, TokenError> + Send + Sync + 'static> {
    let given = given_token()?;
    let secret = if given.is_some() { String::new() } else { token::dev_secret(data)? };
    Ok(move |_refresh| match &given {
        Some(token) => Ok(Credentials::bearer(token.as_str())),
        None => token::sign(&secret, "dev", Map::from_iter([dev_person()]))
            .map(Credentials::bearer)
            .map_err(|error| TokenError(error.to_string())),
    })
}

/// The token of the environment, when it could be one.
fn given_token() -> anyhow::Result<Option<String>> {
    let Some(value) = std::env::var_os(TOKEN).filter(|value| !value.is_empty()) else { return Ok(None) };
    let token = value.to_str().map(str::trim).unwrap_or_default();
    if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        bail!("{TOKEN} is no token: it has to be one word of visible ASCII characters");
    }
    Ok(Some(token.to_owned()))
}

/// A dev token fits every example stream.
fn dev_person() -> (String, serde_json::Value) {
    ("app_metadata".to_owned(), serde_json::json!({"person_id": "dev"}))
}

#[derive(Default)]
struct Appended {
    events: u64,
    refusal: Option<String>,
}

/// Appends every line that is one; blank lines don't count. A bad line doesn't stop the rest.
fn append(outbox: &Outbox, stream: &str, input: Box<dyn BufRead>, file: &Path) -> anyhow::Result<Appended> {
    let mut appended = Appended::default();
    let (mut refused, mut first) = (0u64, None::<(u64, String)>);
    let mut refuse = |number: u64, why: String| {
        refused += 1;
        if first.as_ref().is_none_or(|(before, _)| number < *before) {
            first = Some((number, why));
        }
    };
    let mut lines = Lines { input, number: 0 };
    loop {
        let chunk = lines.next_chunk().with_context(|| format!("file {} can't be read", file.display()))?;
        if chunk.is_empty() {
            break;
        }
        let mut sound = Vec::new();
        for line in chunk {
            match line {
                Line::Text(number, text) => sound.push((number, text)),
                Line::Unusable(number, why) => refuse(number, why),
            }
        }
        let outcomes = outbox.append_all(stream, sound.iter().map(|(_, text)| text))?;
        for ((number, _), outcome) in sound.iter().zip(outcomes) {
            match outcome {
                Ok(_) => appended.events += 1,
                Err(error) => refuse(*number, error.to_string()),
            }
        }
    }
    let all = appended.events + refused;
    appended.refusal =
        first.map(|(number, why)| format!("{refused} of {all} lines not appended; line {number}: {why}"));
    Ok(appended)
}

struct Lines {
    input: Box<dyn BufRead>,
    number: u64,
}

/// A line that is not blank, with its number from 1.
enum Line {
    Text(u64, String),
    /// No JSON text by any means, and why.
    Unusable(u64, String),
}

impl Lines {
    /// The next lines, as many as fit a chunk; none at the end of the input.
    fn next_chunk(&mut self) -> io::Result<Vec<Line>> {
        let (mut chunk, mut bytes) = (Vec::new(), 0);
        // Blank lines alone make no chunk: an empty one is the end.
        while chunk.is_empty() || (chunk.len() < CHUNK_LINES && bytes < CHUNK_BYTES) {
            let mut line = Vec::new();
            let read = io::Read::take(&mut self.input, LINE_BYTES as u64 + 1).read_until(b'\n', &mut line)?;
            if read == 0 {
                break;
            }
            self.number += 1;
            bytes += read;
            if read > LINE_BYTES {
                self.skip_rest_of_line(&line)?;
                chunk.push(Line::Unusable(self.number, format!("longer than {LINE_BYTES} bytes")));
                continue;
            }
            match String::from_utf8(line) {
                Ok(text) if text.trim().is_empty() => {}
                Ok(text) => chunk.push(Line::Text(self.number, text)),
                Err(_) => chunk.push(Line::Unusable(self.number, "not UTF-8".to_owned())),
            }
        }
        Ok(chunk)
    }

    fn skip_rest_of_line(&mut self, start: &[u8]) -> io::Result<()> {
        let mut ended = start.ends_with(b"\n");
        while !ended {
            let buffer = self.input.fill_buf()?;
            let end = buffer.iter().position(|byte| *byte == b'\n');
            ended = end.is_some() || buffer.is_empty();
            let used = end.map_or(buffer.len(), |at| at + 1);
            self.input.consume(used);
        }
        Ok(())
    }
}

#[derive(Default)]
struct Sent {
    acked: u64,
    refused: u64,
    rejected: u64,
    deferred: u64,
    first_reason: String,
    trouble: Option<String>,
}

/// Passes until nothing is due or the lane is at fault.
fn flush(flusher: &Flusher) -> anyhow::Result<Sent> {
    let bar = progress::bar(flusher.outbox().pending()?, "flushing");
    let shown = bar.clone();
    let subscription = flusher.on_batch(move |batch| shown.inc(batch.posted));
    let report = flusher.flush()?;
    drop(subscription);
    bar.finish_and_clear();
    Ok(Sent {
        acked: report.acked,
        refused: report.refused,
        rejected: report.rejected,
        deferred: report.deferred + report.unanswered,
        first_reason: report.verdicts.first().map(|verdict| verdict.reason.clone()).unwrap_or_default(),
        trouble: trouble(&report),
    })
}

fn trouble(report: &FlushReport) -> Option<String> {
    match &report.end {
        PassEnd::Done if report.deferred > 0 => report
            .verdicts
            .iter()
            .find(|verdict| verdict.status == eventlane_contracts::wire::Status::Deferred)
            .map(|verdict| format!("{} events deferred: {}", report.deferred, verdict.reason)),
        PassEnd::Done | PassEnd::Stopped => None,
        PassEnd::BackingOff => {
            let wait = report.wait.unwrap_or(Duration::ZERO);
            Some(format!("the lane backs off for another {} s after an earlier fault", wait.as_secs() + 1))
        }
        PassEnd::Elsewhere => Some("another process is flushing this outbox".to_owned()),
        PassEnd::Failed(LaneFault::Auth(status)) => {
            Some(format!("the server takes no token of ours ({status}); is {TOKEN} or --data the server's?"))
        }
        PassEnd::Failed(fault) => Some(format!("the lane can't take events now: {fault}")),
    }
}

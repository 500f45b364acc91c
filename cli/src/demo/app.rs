//! The demo's app: its registry is a little newer than the server's, as after an app release.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::bail;
use eventlane_contracts::wire::{EVENTS_PATH, Status};
use eventlane_contracts::{Registry, Stream};
use eventlane_lane::streams::IssueViewed;
use eventlane_outbox::{
    Credentials, FlushOptions, Flusher, HttpTransport, Outbox, OutboxOptions, PassEnd, TokenError,
};
use serde_json::json;
use uuid::Uuid;

use crate::folder::DataFolder;
use crate::{progress, token};

/// Real records, a few: bird strikes reported to the FAA.
const BIRD_STRIKES: &str = include_str!("bird_strike.jsonl");

/// Events of `issue_viewed`.
const ISSUES: u64 = 900;

/// Events of `review_graded` that the server takes.
const REVIEWS: u64 = 300;

/// Events in a batch: small enough for a drain with work left.
const BATCH: usize = 100;

/// What the app appended, and what it heard of it.
pub(crate) struct Sent {
    /// Ids of all appended events.
    pub(crate) appended: BTreeSet<String>,
    /// Ids the server refused.
    pub(crate) refused: BTreeSet<String>,
    /// Ids the server rejected.
    pub(crate) rejected: BTreeSet<String>,
    /// How many the server acked, by its own words.
    pub(crate) acked: u64,
    /// The event that fails its handler every time.
    pub(crate) poison: String,
    /// Batches posted.
    pub(crate) requests: u64,
}

/// Streams of the app: one that the server doesn't have yet, one whose contract is laxer than its.
fn registry() -> anyhow::Result<Registry> {
    let server = eventlane_lane::registry()?;
    let schema = |name: &str| server.stream(name).map(|stream| stream.schema().clone()).unwrap_or_default();
    Ok(Registry::define([
        Stream::typed::<IssueViewed>("issue_viewed"),
        Stream::json_schema("bird_strike", schema("bird_strike")),
        Stream::json_schema("earthquake", schema("earthquake")),
        Stream::json_schema(
            "review_graded",
            json!({
                "type": "object",
                "properties": {"cardId": {"type": "string"}, "grade": {"type": "integer"}},
                "required": ["cardId", "grade"],
                "additionalProperties": false
            }),
        ),
        Stream::json_schema("note_taken", json!({"type": "string"})),
    ])?)
}

/// Appends everything, flushes it, and says what became of it.
pub(crate) fn play(folder: &DataFolder, server: SocketAddr, secret: &str) -> anyhow::Result<Sent> {
    let outbox = Outbox::open(folder.outbox(), Arc::new(registry()?), OutboxOptions::default())?;
    let transport = Arc::new(HttpTransport::new(&format!("http://{server}{EVENTS_PATH}"))?);
    let secret = secret.to_owned();
    let tokens = move |_refresh| {
        let claims = json!({"app_metadata": {"person_id": 7, "declined_streams": ["earthquake"]}});
        token::sign(&secret, "demo-user", claims.as_object().cloned().unwrap_or_default())
            .map(Credentials::bearer)
            .map_err(|error| TokenError(error.to_string()))
    };
    let options = FlushOptions { batch_size: Some(BATCH), ..FlushOptions::default() };
    let flusher = Flusher::new(outbox.clone(), options, transport, Arc::new(tokens))?;

    // The poison rides alone, so that it takes no neighbour with it.
    let mut sent = Sent {
        appended: BTreeSet::new(),
        refused: BTreeSet::new(),
        rejected: BTreeSet::new(),
        acked: 0,
        poison: outbox.append("issue_viewed", &IssueViewed { issue_id: Uuid::now_v7() })?.event_id,
        requests: 0,
    };
    sent.appended.insert(sent.poison.clone());
    flush(&flusher, &mut sent)?;
    append_all(&outbox, &mut sent)?;
    flush(&flusher, &mut sent)?;
    Ok(sent)
}

fn append_all(outbox: &Outbox, sent: &mut Sent) -> anyhow::Result<()> {
    let bar = progress::bar(ISSUES + REVIEWS, "appending");
    let mut batches: Vec<(&str, Vec<String>)> = vec![
        ("issue_viewed", (0..ISSUES).map(|_| json!({"issueId": Uuid::now_v7()}).to_string()).collect()),
        ("review_graded", (0..REVIEWS).map(|n| review(n % 4 + 1)).collect()),
        ("bird_strike", BIRD_STRIKES.lines().map(str::to_owned).collect()),
    ];
    // Rejected: a grade that only the app's laxer contract takes. Refused: its owner declined the
    // stream. Deferred: the server doesn't know the stream yet.
    batches.push(("review_graded", vec![review(5), review(9)]));
    batches.push(("earthquake", vec![include_str!("earthquake.json").to_owned()]));
    batches.push(("note_taken", (0..5).map(|n| format!("\"note {n}\"")).collect()));
    for (stream, payloads) in batches {
        for outcome in outbox.append_all(stream, &payloads)? {
            sent.appended.insert(outcome?.event_id);
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    Ok(())
}

fn review(grade: u64) -> String {
    json!({"cardId": Uuid::now_v7(), "grade": grade}).to_string()
}

fn flush(flusher: &Flusher, sent: &mut Sent) -> anyhow::Result<()> {
    let bar = progress::bar(flusher.outbox().pending()?, "flushing");
    let verdicts = Arc::new(Mutex::new(Vec::new()));
    let (shown, heard) = (bar.clone(), Arc::clone(&verdicts));
    let subscription = flusher.on_batch(move |batch| {
        shown.inc(batch.posted);
        heard.lock().unwrap_or_else(PoisonError::into_inner).extend(batch.verdicts.iter().cloned());
    });
    let report = flusher.flush()?;
    drop(subscription);
    bar.finish_and_clear();
    if report.end != PassEnd::Done {
        bail!("the flush ended early: {:?}", report.end);
    }
    sent.acked += report.acked;
    sent.requests += report.requests;
    for verdict in verdicts.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
        match verdict.status {
            Status::Refused => sent.refused.insert(verdict.event_id),
            Status::Rejected => sent.rejected.insert(verdict.event_id),
            Status::Acked | Status::Deferred => continue,
        };
    }
    Ok(())
}

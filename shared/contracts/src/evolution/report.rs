//! A check, told to people, to programs and to GitHub.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::blind_spot::BlindSpot;
use super::check::{Check, DEPLOY_ORDER, Outcome};
use super::diff::{Change, Diff, Grade};
use crate::judge::Verdict;

/// Bytes of a counter-example that are shown in a line; `--json` has all of it.
const SHOWN_BYTES: usize = 400;

impl Change {
    /// What happened, one line each, without the stream's name.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        match self {
            Self::Added => vec!["added".to_owned()],
            Self::Removed => vec![
                "removed; a removal must outlive every client that may still append, since their events \
                 would be deferred for ever"
                    .to_owned(),
            ],
            Self::Changed { payload, identity, revision } => {
                let payload = payload.iter().map(Verdict::line);
                let identity = identity.iter().map(|change| {
                    format!("identity changed from {} to {}", paths(&change.old), paths(&change.new))
                });
                let number =
                    |revision: Option<u32>| revision.map_or("none".to_owned(), |number| number.to_string());
                let revision = revision.iter().map(|change| {
                    format!("revision changed from {} to {}", number(change.old), number(change.new))
                });
                payload.chain(identity).chain(revision).collect()
            }
        }
    }

    fn json(&self) -> Value {
        match self {
            Self::Added => json!({"change": "added"}),
            Self::Removed => json!({"change": "removed"}),
            Self::Changed { payload, identity, revision } => json!({
                "change": "changed",
                "payload": payload.as_ref().map(Verdict::json),
                "identity": identity.as_ref().map(|change| json!({"old": change.old, "new": change.new})),
                "revision": revision.map(|change| json!({"old": change.old, "new": change.new})),
            }),
        }
    }
}

impl Verdict {
    fn line(&self) -> String {
        match self {
            Self::Same => "payload says the same in other words".to_owned(),
            Self::Widened => "payload widened: every payload that was valid still is".to_owned(),
            Self::Narrowed { counter_example } => {
                format!("payload narrowed: {} was valid and no longer is", shown(counter_example))
            }
            Self::Unknown { reason } => {
                format!("payload changed, and whether every old one stays valid is not known: {reason}")
            }
        }
    }

    fn json(&self) -> Value {
        match self {
            Self::Same | Self::Widened => json!({"verdict": self.tag()}),
            Self::Narrowed { counter_example } => {
                json!({"verdict": self.tag(), "counter_example": counter_example})
            }
            Self::Unknown { reason } => json!({"verdict": self.tag(), "reason": reason}),
        }
    }
}

impl Diff {
    /// The changes for people, one a line.
    #[must_use]
    pub fn to_text(&self) -> String {
        let lines = self.changes.iter().flat_map(|(stream, change)| {
            let grade = change.grade().tag();
            change.lines().into_iter().map(move |line| format!("  {grade:<10} {stream}: {line}\n"))
        });
        lines.collect()
    }

    fn json(&self) -> Value {
        let changes = self.changes.iter().map(|(stream, change)| {
            let mut json = change.json();
            json["stream"] = Value::from(stream.as_str());
            json["grade"] = Value::from(change.grade().tag());
            json
        });
        json!({"grade": self.grade().tag(), "changes": changes.collect::<Vec<_>>()})
    }
}

impl BlindSpot {
    fn line(&self) -> String {
        let cure = match self.revision {
            Some(revision) => format!("raise its revision, now {revision}, whenever that changes"),
            None => "declare a revision, and raise it whenever that changes".to_owned(),
        };
        format!("the type refuses {}, which its schema takes; {cure}", shown(&self.example))
    }
}

impl Check {
    /// The check for people. `lock` and `against` are how the two files are called.
    #[must_use]
    pub fn to_text(&self, lock: &str, against: &str) -> String {
        let mut text = if self.stale.is_empty() {
            format!("{lock} is up to date\n")
        } else {
            format!("{lock} is stale; in the code, and not in it:\n{}", self.stale.to_text())
        };
        match &self.against {
            Some(diff) if diff.is_empty() => text += &format!("nothing changed since {against}\n"),
            Some(diff) => text += &format!("since {against}: {}\n{}", diff.grade().tag(), diff.to_text()),
            None => {}
        }
        for spot in &self.blind_spots {
            let weight = if spot.revision.is_some() { "note" } else { "warning" };
            text += &format!("{weight}: {}: {}\n", spot.stream, spot.line());
        }
        let [first, second] = DEPLOY_ORDER;
        text + &format!("deploy order: {first} first, {second} second\n")
    }

    /// The check for programs: one JSON object.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let spots = self
            .blind_spots
            .iter()
            .map(|spot| json!({"stream": spot.stream, "refuses": spot.example, "revision": spot.revision}));
        json!({
            "outcome": self.outcome().tag(),
            "stale": self.stale.json(),
            "against": self.against.as_ref().map(Diff::json),
            "blind_spots": spots.collect::<Vec<_>>(),
            "deploy_order": DEPLOY_ORDER,
        })
    }

    /// The check as GitHub's workflow commands: annotations of the lock file.
    #[must_use]
    pub fn to_github(&self, lock: &str, against: &str) -> String {
        let mut lines = Vec::new();
        for (stream, change) in &self.stale.changes {
            for line in change.lines() {
                lines.push(annotation("error", lock, &format!("{stream}: {lock} is stale"), &line));
            }
        }
        for (stream, change) in self.against.iter().flat_map(|diff| &diff.changes) {
            let level = match change.grade() {
                Grade::Compatible => "notice",
                Grade::Risky => "warning",
                Grade::Breaking => "error",
            };
            for line in change.lines() {
                let title = format!("{stream}: {} since {against}", change.grade().tag());
                lines.push(annotation(level, lock, &title, &line));
            }
        }
        for spot in &self.blind_spots {
            let level = if spot.revision.is_some() { "notice" } else { "warning" };
            lines.push(annotation(level, lock, &format!("{}: blind spot", spot.stream), &spot.line()));
        }
        if self.outcome() == Outcome::Fine {
            lines.push(annotation("notice", lock, "streams", "the lock is up to date and nothing breaks"));
        }
        lines.join("\n") + "\n"
    }
}

/// Escapes as GitHub's runner reads them back: more of them in properties than in the message.
fn annotation(level: &str, file: &str, title: &str, message: &str) -> String {
    let escaped = |text: &str| text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    let property = |text: &str| escaped(text).replace(':', "%3A").replace(',', "%2C");
    format!("::{level} file={},title={}::{}", property(file), property(title), escaped(message))
}

fn paths(identity: &BTreeMap<String, Vec<String>>) -> String {
    if identity.is_empty() {
        return "none".to_owned();
    }
    identity
        .iter()
        .map(|(field, path)| format!("{field} = {}", path.join(".")))
        .collect::<Vec<_>>()
        .join(", ")
}

fn shown(value: &Value) -> String {
    let text = value.to_string();
    let cut = crate::text::cut(&text, SHOWN_BYTES);
    if cut.len() < text.len() { format!("{cut}… ({} bytes)", text.len()) } else { text }
}

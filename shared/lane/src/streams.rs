//! The streams. The lock file `streams.lock.json` is made from them: `cargo xtask golden`.

use eventlane_contracts::{Registry, RegistryError, Stream};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The lane's streams.
///
/// # Errors
/// [`RegistryError`] naming everything that is not sound; a test in this crate keeps it from
/// reaching anyone.
pub fn registry() -> Result<Registry, RegistryError> {
    Registry::define([
        Stream::typed::<IssueViewed>("issue_viewed").identity("viewerId", ["sub"]),
        Stream::typed::<ReviewGraded>("review_graded").identity("learnerId", ["app_metadata", "person_id"]),
        Stream::json_schema("bird_strike", schema(include_str!("streams/bird_strike.schema.json")))
            .identity("reporterId", ["sub"]),
        Stream::json_schema("earthquake", schema(include_str!("streams/earthquake.schema.json")))
            .identity("reporterId", ["sub"]),
    ])
}

/// A text that is no JSON reads as the schema `null`, which the registry refuses by its stream's
/// name.
fn schema(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap_or_default()
}

/// Someone opened an issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct IssueViewed {
    /// The issue.
    pub issue_id: Uuid,
}

/// A learner graded a card.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReviewGraded {
    /// The card.
    pub card_id: Uuid,
    /// How well it was known.
    #[schemars(with = "u8", range(min = 1, max = 4))]
    pub grade: Grade,
}

/// How well a card was known: 1 (not at all) to 4 (easily).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct Grade(u8);

/// A number that is no grade.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoGrade;

impl std::fmt::Display for NoGrade {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a grade is 1 to 4")
    }
}

impl std::error::Error for NoGrade {}

impl TryFrom<u8> for Grade {
    type Error = NoGrade;

    fn try_from(grade: u8) -> Result<Self, NoGrade> {
        if (1..=4).contains(&grade) { Ok(Self(grade)) } else { Err(NoGrade) }
    }
}

impl From<Grade> for u8 {
    fn from(grade: Grade) -> Self {
        grade.0
    }
}

//! Which dead letters a command means: those that pass every filter that is given.

use std::time::Duration;

use eventlane_contracts::MessageBody;
use eventlane_queue::DeadLetter;

use crate::age;

#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Filter {
    /// Of this stream; may be given again
    #[arg(long)]
    pub(crate) stream: Vec<String>,
    /// The letter with this id; may be given again
    #[arg(long)]
    id: Vec<String>,
    /// That hold the event with this id
    #[arg(long)]
    event: Option<String>,
    /// Whose reason holds this text
    #[arg(long)]
    reason: Option<String>,
    /// Dead-lettered longer ago than this (90s, 15m, 2h, 3d)
    #[arg(long, value_parser = age::parse)]
    older_than: Option<Duration>,
    /// Dead-lettered more recently than this
    #[arg(long, value_parser = age::parse)]
    newer_than: Option<Duration>,
}

impl Filter {
    /// Whether anything but the stream narrows the choice.
    pub(crate) fn is_whole_queue(&self) -> bool {
        self.id.is_empty()
            && self.event.is_none()
            && self.reason.is_none()
            && self.older_than.is_none()
            && self.newer_than.is_none()
    }

    /// Whether the letter is meant. One that the queue moved by itself has no time and no reason,
    /// and passes no filter on them.
    pub(crate) fn means(&self, letter: &DeadLetter, now_us: i64) -> bool {
        let age = letter.dead_lettered_us.map(|at| age_of(at, now_us));
        let holds = |event: &String| event_ids(&letter.body).iter().any(|id| id.eq_ignore_ascii_case(event));
        (self.id.is_empty() || self.id.contains(&letter.id))
            && self.event.as_ref().is_none_or(holds)
            && self
                .reason
                .as_ref()
                .is_none_or(|text| letter.reason.as_ref().is_some_and(|reason| reason.contains(text)))
            && self.older_than.is_none_or(|least| age.is_some_and(|age| age > least))
            && self.newer_than.is_none_or(|most| age.is_some_and(|age| age < most))
    }
}

/// How long ago; a time ahead of ours is now.
pub(crate) fn age_of(at_us: i64, now_us: i64) -> Duration {
    Duration::from_micros(u64::try_from(now_us.saturating_sub(at_us)).unwrap_or(0))
}

/// The ids of a letter's events; none when its body is unreadable.
pub(crate) fn event_ids(body: &str) -> Vec<String> {
    let body = serde_json::from_str::<MessageBody>(body).ok();
    body.into_iter().flat_map(|body| body.events).map(|event| event.event_id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR_US: i64 = 3_600_000_000;

    fn letter() -> DeadLetter {
        DeadLetter {
            id: "l".into(),
            body:
                r#"{"stream":"s","events":[{"eventId":"aa","occurredAtUs":"1","identity":{},"payload":1}]}"#
                    .into(),
            reason: Some("the table is missing".into()),
            attempts: Some(5),
            first_received_us: Some(0),
            dead_lettered_us: Some(10 * HOUR_US),
        }
    }

    #[test]
    fn a_letter_is_meant_when_it_passes_every_filter() {
        let now = 12 * HOUR_US;
        let means = |filter: Filter| filter.means(&letter(), now);
        let hours = |n: u64| Some(Duration::from_secs(n * 3_600));
        assert!(means(Filter::default()));
        assert!(means(Filter {
            event: Some("AA".into()),
            reason: Some("table".into()),
            ..Filter::default()
        }));
        assert!(!means(Filter { event: Some("bb".into()), ..Filter::default() }));
        assert!(!means(Filter { event: Some("aa".into()), reason: Some("x".into()), ..Filter::default() }));
        assert!(means(Filter { older_than: hours(1), newer_than: hours(3), ..Filter::default() }));
        assert!(!means(Filter { older_than: hours(3), ..Filter::default() }));
        assert!(!means(Filter { newer_than: hours(1), ..Filter::default() }));
        assert!(!means(Filter { id: vec!["other".into()], ..Filter::default() }));
        let moved = DeadLetter { reason: None, dead_lettered_us: None, ..letter() };
        let by_age = Filter { older_than: Some(Duration::ZERO), ..Filter::default() };
        assert!(!by_age.means(&moved, now), "moved by the queue: of no known age");
        assert!(event_ids("hello").is_empty());
    }
}

//! The rate limit: one subject's requests, before anything of them is read.

use std::time::Duration;

use eventlane_contracts::ClaimPath;

use super::*;
use crate::{RateLimit, RateLimitSettings};

fn limited(settings: RateLimitSettings) -> (Door, ManualClock) {
    let clock = ManualClock::default();
    let rate_limit = RateLimit::new(settings, Arc::new(clock.clone())).unwrap();
    let options = IngestOptions { rate_limit: Some(rate_limit), ..IngestOptions::default() };
    (door_of(Queues::default(), Arc::new(AdmitAll), registry(), options), clock)
}

/// Two at once, then one each six seconds.
fn ten_a_minute() -> RateLimitSettings {
    RateLimitSettings { requests_per_minute: 10, burst: 2, ..RateLimitSettings::default() }
}

impl Door {
    async fn send_as(&self, token: &str) -> Answered {
        let mut request = request(batch(&[Event::new(1, "any_thing", "1")]));
        request.headers_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
        self.ask(request).await
    }

    async fn statuses<const N: usize>(&self, subjects: [&str; N]) -> [u16; N] {
        let mut statuses = [0; N];
        for (status, subject) in statuses.iter_mut().zip(subjects) {
            *status = self.send_as(&token_of(subject)).await.status;
        }
        statuses
    }
}

#[tokio::test]
async fn beyond_the_burst_a_request_is_429_with_the_time_until_the_next() {
    let (door, clock) = limited(ten_a_minute());
    assert_eq!(door.statuses(["a", "a"]).await, [200, 200]);
    let over = door.send_as(&token_of("a")).await;
    assert_eq!((over.status, over.headers["retry-after"].as_bytes()), (429, &b"6"[..]));
    assert!(over.body["message"].is_string() && over.body.get("acks").is_none());
    assert_eq!(door.queues.messages().len(), 2, "the whole request is turned away");
    clock.advance(Duration::from_millis(5_999));
    assert_eq!(door.send_as(&token_of("a")).await.headers["retry-after"].as_bytes(), b"1", "rounded up");
    clock.advance(Duration::from_millis(1));
    assert_eq!(door.statuses(["a", "a"]).await, [200, 429]);
    clock.advance(Duration::from_secs(3600));
    assert_eq!(
        door.statuses(["a", "a", "a"]).await,
        [200, 200, 429],
        "a bucket holds no more than its burst"
    );
}

#[tokio::test]
async fn subjects_have_buckets_of_their_own_and_a_stranger_has_none() {
    let (door, _) = limited(ten_a_minute());
    assert_eq!(door.statuses(["a", "a", "a", "b", "b", "b"]).await, [200, 200, 429, 200, 200, 429]);
    assert_eq!(door.send_as("a.b.c").await.status, 401, "a token that proves nothing counts for nobody");
    // Without the claim there is one bucket for all.
    let nobody = |n: u8| hs256(&json!({"n": n, "exp": FAR_EXPIRY}));
    let mut statuses = Vec::new();
    for n in 1..=3 {
        statuses.push(door.send_as(&nobody(n)).await.status);
    }
    assert_eq!(statuses, [200, 200, 429]);
}

#[tokio::test]
async fn the_claim_is_chosen_by_its_path() {
    let claim = ClaimPath::new(["app_metadata", "tenant"]);
    let (door, _) = limited(RateLimitSettings { burst: 1, claim, ..ten_a_minute() });
    let token = |sub: &str, tenant: u8| {
        hs256(&json!({"sub": sub, "app_metadata": {"tenant": tenant}, "exp": FAR_EXPIRY}))
    };
    assert_eq!(door.send_as(&token("a", 1)).await.status, 200);
    assert_eq!(door.send_as(&token("b", 1)).await.status, 429, "another subject of the same tenant");
    assert_eq!(door.send_as(&token("a", 2)).await.status, 200);
}

#[tokio::test]
async fn a_clock_that_jumps_makes_nobody_wait_longer_than_a_bucket_takes() {
    let (door, clock) = limited(ten_a_minute());
    assert_eq!(door.statuses(["a", "a", "a"]).await, [200, 200, 429]);
    clock.rewind(Duration::from_secs(86_400));
    let over = door.send_as(&token_of("a")).await;
    assert_eq!((over.status, over.headers["retry-after"].as_bytes()), (429, &b"6"[..]));
    clock.advance(Duration::from_secs(12));
    assert_eq!(door.statuses(["a", "a", "a"]).await, [200, 200, 429]);
}

#[tokio::test]
async fn subjects_are_bounded_and_the_quietest_is_forgotten() {
    let (door, clock) = limited(RateLimitSettings { subjects: 2, burst: 2, ..ten_a_minute() });
    assert_eq!(door.statuses(["a", "a", "a", "b"]).await, [200, 200, 429, 200]);
    // A third one: b's bucket is nearer to full, so that a's emptiness is remembered.
    assert_eq!(door.statuses(["c", "a"]).await, [200, 429]);
    clock.advance(Duration::from_secs(60));
    // All are full again: nothing to remember, and room for others.
    assert_eq!(door.statuses(["d", "e", "a", "a"]).await, [200; 4]);
}

#[test]
fn nonsense_is_refused_with_every_offender() {
    let settings = RateLimitSettings {
        requests_per_minute: 0,
        burst: 10_001,
        subjects: 0,
        claim: ClaimPath::new(["a", ""]),
    };
    let error = RateLimit::new(settings, Arc::new(ManualClock::default())).err().unwrap().to_string();
    for part in ["minute is 0", "at once is 10001", "subjects is 0", "empty segment"] {
        assert!(error.contains(part), "{part} is missing in {error}");
    }
}

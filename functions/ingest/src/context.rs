//! What Lambda knows of a request, told to the door: its id, and when the answer has to be written.

use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use eventlane_contracts::{Clock, SystemClock};
use eventlane_ingest::RequestContext;
use lambda_http::RequestExt;
use lambda_http::lambda_runtime::Context;
use tokio::time::Instant;

/// Kept free before the function's deadline, to write the answer and hand it over.
const MARGIN: Duration = Duration::from_millis(500);

/// The door, each of whose requests carries what Lambda says of it.
pub(crate) fn told(door: Router) -> Router {
    door.layer(from_fn(async |mut request: Request, next: Next| -> Response {
        if let Some(context) = request.lambda_context_ref() {
            let answer_by = Instant::now() + left(context, SystemClock.now_us());
            let request_id = context.request_id.clone();
            request.extensions_mut().insert(RequestContext { request_id, answer_by: Some(answer_by) });
        }
        next.run(request).await
    }))
}

/// What is left of the invocation; nothing when its deadline is past or unknown.
fn left(context: &Context, now_us: i64) -> Duration {
    let now_ms = u64::try_from(now_us / 1000).unwrap_or(0);
    Duration::from_millis(context.deadline.saturating_sub(now_ms)).saturating_sub(MARGIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// I39
    #[test]
    fn the_answer_is_due_before_the_deadline_and_never_in_the_past() {
        let at = |deadline: u64| {
            let mut context = Context::default();
            context.deadline = deadline;
            left(&context, 1_000_000_000)
        };
        assert_eq!(at(1_010_000), Duration::from_millis(9_500));
        assert_eq!(at(1_000_400), Duration::ZERO, "less than the margin is left");
        assert_eq!(at(0), Duration::ZERO, "the deadline is past");
    }
}

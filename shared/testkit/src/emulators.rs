//! Where the emulators are that `cargo xtask test` has started.
//!
//! A test that needs one carries its name, `localstack` or `ministack`, in its own path (module or
//! function): where an emulator can't be installed, its tests are skipped by that name.

use std::env;

/// The environment variable that holds LocalStack's endpoint.
pub const LOCALSTACK: &str = "EVENTLANE_TEST_LOCALSTACK";

/// The environment variable that holds ministack's endpoint.
pub const MINISTACK: &str = "EVENTLANE_TEST_MINISTACK";

/// LocalStack's endpoint, for SQS.
///
/// # Panics
/// When it doesn't run.
#[must_use]
pub fn localstack_url() -> String {
    endpoint(LOCALSTACK, env::var(LOCALSTACK).ok())
}

/// ministack's endpoint, for DynamoDB.
///
/// # Panics
/// When it doesn't run.
#[must_use]
pub fn ministack_url() -> String {
    endpoint(MINISTACK, env::var(MINISTACK).ok())
}

/// What a process needs to talk to an endpoint that takes any credentials: the SDK must neither
/// look for real ones nor ask a metadata service.
#[must_use]
pub fn aws_environment(endpoint: &str) -> Vec<(&'static str, String)> {
    vec![
        ("AWS_ENDPOINT_URL", endpoint.to_owned()),
        ("AWS_REGION", "us-east-1".to_owned()),
        ("AWS_ACCESS_KEY_ID", "test".to_owned()),
        ("AWS_SECRET_ACCESS_KEY", "test".to_owned()),
        ("AWS_EC2_METADATA_DISABLED", "true".to_owned()),
    ]
}

fn endpoint(variable: &str, value: Option<String>) -> String {
    value.filter(|url| !url.is_empty()).unwrap_or_else(|| {
        panic!("{variable} is not set: run the tests through `cargo xtask test`, or export what `cargo xtask local up` prints")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_emulator_says_how_to_get_it() {
        let panic = std::panic::catch_unwind(|| endpoint("V", None)).unwrap_err();
        assert!(
            panic
                .downcast_ref::<String>()
                .unwrap()
                .contains("V is not set: run the tests through `cargo xtask test`")
        );
        assert_eq!(endpoint("V", Some("http://127.0.0.1:1".to_owned())), "http://127.0.0.1:1");
    }
}

//! Schemathesis: tries the API with requests made up from its OpenAPI document. No service, a program
//! that one test runs.

/// Its name in paths, and in the paths of the tests that need it.
pub(super) const NAME: &str = "schemathesis";

/// The oldest Python it runs on.
pub(super) const PYTHON: (u32, u32) = (3, 10);

/// Its pins.
pub(super) const REQUIREMENTS: &str = "tests/api/requirements.txt";

/// The environment variable that tells the test which interpreter has it.
pub(super) const VARIABLE: &str = "EVENTLANE_TEST_SCHEMATHESIS";

/// The environment variable that tells the test how many requests to make up for each operation.
pub(crate) const API_EXAMPLES: &str = "EVENTLANE_API_EXAMPLES";

//! ministack: DynamoDB, and the deployed stack with its functions as processes.

use std::process::Command;

use super::emulator::{Part, Start};

/// How it is installed and started.
pub(super) const PART: Part = Part {
    name: "ministack",
    title: "ministack (DynamoDB, the deployed stack)",
    variable: "EVENTLANE_TEST_MINISTACK",
    python: (3, 10),
    requirements: "requirements-ministack.txt",
    health: "/_ministack/health",
    command,
};

fn command(start: &Start<'_>, command: &mut Command) {
    command.arg(start.interpreter).arg(start.files.join("ministack_host.py"));
    command
        .env("HOME", start.folder)
        .env("TMPDIR", start.folder)
        .env("STATE_DIR", start.folder.join("state"))
        .env("S3_DATA_DIR", start.folder.join("s3"))
        // Its default is every interface.
        .env("BIND_HOST", "127.0.0.1")
        .env("MINISTACK_HOST", "localhost")
        .env("GATEWAY_PORT", start.port.to_string())
        // It hands this to the functions it starts.
        .env("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{}", start.port))
        // Functions run as processes, whether or not this machine has Docker.
        .env("DOCKER_HOST", "unix:///nonexistent.sock");
}

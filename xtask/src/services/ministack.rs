//! ministack: DynamoDB, and later the deployed stack.

use std::process::Command;

use super::emulator::{Part, Start};

/// How it is installed and started.
pub(super) const PART: Part = Part {
    name: "ministack",
    title: "ministack (DynamoDB)",
    variable: "EVENTLANE_TEST_MINISTACK",
    python: (3, 10),
    requirements: "requirements-ministack.txt",
    health: "/_ministack/health",
    command,
};

fn command(start: &Start<'_>, command: &mut Command) {
    // The module, not the installed script: that one holds the venv's path and breaks on a move.
    command.arg(start.interpreter).args(["-c", "from ministack.app import main; main()"]);
    command
        .env("HOME", start.folder)
        .env("TMPDIR", start.folder)
        .env("STATE_DIR", start.folder.join("state"))
        .env("S3_DATA_DIR", start.folder.join("s3"))
        // Its default is every interface.
        .env("BIND_HOST", "127.0.0.1")
        .env("MINISTACK_HOST", "localhost")
        .env("GATEWAY_PORT", start.port.to_string())
        // Functions run as processes, whether or not this machine has Docker.
        .env("DOCKER_HOST", "unix:///nonexistent.sock");
}

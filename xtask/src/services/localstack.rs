//! LocalStack 4.14, the last line under a free licence: the strictest SQS there is without AWS.

use std::process::Command;

use super::emulator::{Part, Start};

/// How it is installed and started.
pub(super) const PART: Part = Part {
    name: "localstack",
    title: "LocalStack (SQS)",
    variable: "EVENTLANE_TEST_LOCALSTACK",
    // On 3.11 it starts, and then answers every SQS call with 500.
    python: (3, 12),
    requirements: "requirements-localstack.txt",
    health: "/_localstack/health",
    command,
};

fn command(start: &Start<'_>, command: &mut Command) {
    let listen = format!("127.0.0.1:{}", start.port);
    command.arg(start.interpreter).arg(start.files.join("localstack_host.py"));
    command
        .env("HOME", start.folder)
        .env("TMPDIR", start.folder)
        .env("FILESYSTEM_ROOT", start.folder.join("root"))
        .env("GATEWAY_LISTEN", &listen)
        .env("LOCALSTACK_HOST", &listen)
        .env("SERVICES", "sqs,cloudformation,iam,sts,ssm")
        .env("STRICT_SERVICE_LOADING", "1")
        .env("EAGER_SERVICE_LOADING", "0")
        // Queue URLs by path resolve without DNS.
        .env("SQS_ENDPOINT_STRATEGY", "path")
        .env("DNS_ADDRESS", "0")
        // Nothing leaves the machine.
        .env("DISABLE_EVENTS", "1")
        .env("SKIP_SSL_CERT_DOWNLOAD", "1");
}

//! The real template on an emulator, by the tool that deploys it to AWS.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};
use serde_json::Value;

use super::Infra;
use crate::services::{AwsJson, Running};
use crate::shell;

/// The functions, by their binaries' names. The relay's has no database here.
const FUNCTIONS: [&str; 2] = ["ingest", "drain"];

/// A deployed lane.
#[derive(Debug)]
pub(crate) struct Lane {
    /// Where events are posted to.
    pub(crate) url: String,
    /// What signs its tokens.
    pub(crate) token_secret: String,
    /// Its queues' URL up to a stream's name.
    pub(crate) queue_url_prefix: String,
    /// Where its events are archived.
    pub(crate) archive_table: String,
}

impl Lane {
    /// What the tests read.
    pub(crate) fn environment(&self) -> [(&'static str, &str); 4] {
        [
            ("EVENTLANE_TEST_LANE_URL", &self.url),
            ("EVENTLANE_TEST_LANE_SECRET", &self.token_secret),
            ("EVENTLANE_TEST_LANE_QUEUES", &self.queue_url_prefix),
            ("EVENTLANE_TEST_LANE_ARCHIVE", &self.archive_table),
        ]
    }
}

impl Infra {
    /// Deploys the stack with the functions in `binaries`, and keeps what it makes in `folder`.
    pub(crate) fn deploy(&self, emulator: &Running, binaries: &Path, folder: &Path) -> anyhow::Result<Lane> {
        let prebuilt = folder.join("functions");
        for name in FUNCTIONS {
            let binary = binaries.join(name);
            ensure!(binary.is_file(), "{} isn't built", binary.display());
            let function = prebuilt.join(name);
            fs::create_dir_all(&function).with_context(|| format!("create {}", function.display()))?;
            let bootstrap = function.join("bootstrap");
            let _ = fs::remove_file(&bootstrap);
            symlink(&binary, &bootstrap).with_context(|| format!("link {}", bootstrap.display()))?;
        }
        shell::run(&mut self.program("tsc"))?;
        let assembly = folder.join("cdk.out");
        let mut synth = self.program("cdk");
        synth.args(["synth", "--quiet", "--app", "node dist/app.js", "-c", "local=true", "-c"]);
        shell::run(synth.arg(format!("prebuilt={}", prebuilt.display())).arg("--output").arg(&assembly))?;

        let outputs = folder.join("outputs.json");
        let cdk = |arguments: &[&str]| {
            let mut cdk = self.program("cdk");
            cdk.args(arguments).arg("--app").arg(&assembly).args(["--progress", "events", "--ci"]);
            shell::output(emulated(&mut cdk, emulator))
        };
        cdk(&["bootstrap"])?;
        let path = outputs.to_string_lossy();
        cdk(&["deploy", "--require-approval", "never", "--outputs-file", &path])?;
        println!("the stack is deployed to {}", emulator.name());
        lane(&fs::read_to_string(&outputs).context("read the stack's outputs")?, emulator)
    }
}

/// The environment in which the tool finds the emulator, and no account of the caller's.
fn emulated<'a>(command: &'a mut Command, emulator: &Running) -> &'a mut Command {
    for name in ["AWS_PROFILE", "AWS_SESSION_TOKEN"] {
        command.env_remove(name);
    }
    command
        .env("AWS_ENDPOINT_URL", emulator.url())
        .env("AWS_REGION", "us-east-1")
        .env("AWS_ACCESS_KEY_ID", "test")
        .env("AWS_SECRET_ACCESS_KEY", "test")
        .env("AWS_EC2_METADATA_DISABLED", "true")
}

fn lane(outputs: &str, emulator: &Running) -> anyhow::Result<Lane> {
    let outputs: Value = serde_json::from_str(outputs).context("the stack's outputs are no JSON")?;
    let stack = outputs.as_object().and_then(|stacks| stacks.values().next()).cloned().unwrap_or_default();
    let output = |name: &str| {
        let value = stack
            .get(name)
            .and_then(Value::as_str)
            .with_context(|| format!("the stack has no output {name}"));
        value.map(str::to_owned)
    };
    let secret = emulator.aws_json(&AwsJson {
        service: "secretsmanager",
        target: "secretsmanager.GetSecretValue",
        body: serde_json::json!({ "SecretId": output("TokenSecret")? }).to_string(),
    })?;
    let secret: Value = serde_json::from_str(&secret).context("the secret's answer is no JSON")?;
    Ok(Lane {
        // The emulator's own address has the route too, see `localstack/ministack_host.py`.
        url: format!("{}/api/events", emulator.url()),
        token_secret: secret["SecretString"].as_str().context("the secret has no text")?.to_owned(),
        queue_url_prefix: output("QueueUrlPrefix")?,
        archive_table: output("ArchiveTable")?,
    })
}

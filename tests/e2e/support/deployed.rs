//! The lane that `cargo xtask` has deployed: the real template on ministack.

use std::env;
use std::process::Output;

use eventlane_testkit::emulators::{aws_environment, ministack_url};
use tokio::runtime::Runtime;

use super::{Archived, Lane, aws, eventlane};

pub(crate) struct Deployed {
    runtime: Runtime,
    sqs: aws_sdk_sqs::Client,
    dynamo: aws_sdk_dynamodb::Client,
}

impl Deployed {
    pub(crate) fn find() -> Self {
        let config = aws::config(&ministack_url());
        Self {
            runtime: Runtime::new().unwrap(),
            sqs: aws_sdk_sqs::Client::new(&config),
            dynamo: aws_sdk_dynamodb::Client::new(&config),
        }
    }

    /// Events in the archive now. Nobody drains but the deployed functions.
    pub(crate) fn archive(&self) -> Vec<Archived> {
        aws::scan(&self.runtime, &self.dynamo, &said("EVENTLANE_TEST_LANE_ARCHIVE"))
    }

    /// Puts a body on a stream's queue by hand.
    pub(crate) fn put(&self, stream: &str, body: &str) {
        let url = format!("{}-{stream}", said("EVENTLANE_TEST_LANE_QUEUES"));
        self.runtime.block_on(self.sqs.send_message().queue_url(url).message_body(body).send()).unwrap();
    }

    /// `eventlane` with these arguments, about this lane's queues.
    pub(crate) fn ask(&self, arguments: &[&str]) -> Output {
        eventlane(arguments)
            .args(["--json", "--queue-url-prefix", &said("EVENTLANE_TEST_LANE_QUEUES")])
            .envs(aws_environment(&ministack_url()))
            .output()
            .unwrap()
    }
}

impl Lane for Deployed {
    fn url(&self) -> String {
        said("EVENTLANE_TEST_LANE_URL")
    }

    fn secret(&self) -> String {
        said("EVENTLANE_TEST_LANE_SECRET")
    }

    fn archived(&self) -> Vec<Archived> {
        self.archive()
    }
}

fn said(variable: &str) -> String {
    env::var(variable).unwrap_or_else(|_| {
        panic!("{variable} is not set: run `cargo xtask test`, or export what `cargo xtask local up` prints")
    })
}

//! End to end: one file a promise. The same promises are asked of the lane on one machine
//! (`eventlane up`) and of the AWS-shaped lane: both functions as Lambda processes, SQS by
//! LocalStack, DynamoDB by ministack.
#![expect(clippy::unwrap_used, reason = "a test that can't go on has to fail")]

mod support;

mod api;
mod aws_outage;
mod bad_input;
mod demo;
mod deployed;
mod event_source;
mod gateways;
mod iam;
mod ingest_function;
mod kill;
mod lambda_event;
mod large_batch;
mod literals;
mod operate;
mod rate_limit;
mod real_records;
mod registry;
mod relay;
mod rig;
mod soak;
mod stop;
mod wire;

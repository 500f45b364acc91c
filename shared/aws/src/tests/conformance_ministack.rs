//! The suite of the seam, on ministack.

use eventlane_queue::conformance;
use eventlane_testkit::emulators::ministack_url;

use super::emulated_queues::EmulatedQueues;

#[tokio::test]
async fn sqs_on_ministack_conforms() {
    let queues = EmulatedQueues::on(&ministack_url(), "/000000000000");
    conformance::run(&queues).await;
}

//! The ingest's resident memory after many full batches, against after few.

use anyhow::Context;
use tower::ServiceExt;

use crate::ingest;
use crate::report::{Figure, Reach};

const FEW: usize = 100;

const MANY: usize = 10_000;

pub(crate) fn ingest() -> anyhow::Result<Figure> {
    let (runtime, door, token) = (ingest::runtime()?, ingest::door()?, ingest::token());
    let text = ingest::typed_batch(1000);
    let batches = |count: usize| {
        for _ in 0..count {
            let request = ingest::request(&token, &text);
            let answer = runtime.block_on(door.clone().oneshot(request)).expect("a router answers");
            assert_eq!(answer.status(), 200);
        }
    };
    batches(FEW);
    let few = resident_mib()?;
    batches(MANY - FEW);
    let many = resident_mib()?;
    Ok(Figure {
        name: "ingest_memory",
        value: many,
        unit: "MiB resident",
        ratio: Some(many / few),
        reach: Reach::Memory(64.0),
        spread: None,
        note: format!("after 10,000 full batches; {few:.1} MiB after 100"),
    })
}

fn resident_mib() -> anyhow::Result<f64> {
    let status =
        std::fs::read_to_string("/proc/self/status").context("resident memory is read from /proc")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("VmRSS is missing")?;
    let kib: f64 = line.trim().trim_end_matches(" kB").trim().parse()?;
    Ok(kib / 1024.0)
}

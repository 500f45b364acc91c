//! A lane that is asked to stop stops, whoever still holds on to it.

use std::io::Write;
use std::net::TcpStream;

use crate::support::embedded::Embedded;
use crate::support::{Lane, PATIENCE};

fn stops(hold_on: impl FnOnce(&str) -> Option<TcpStream>) {
    let folder = tempfile::tempdir().unwrap();
    let lane = Embedded::start(folder.path(), &[]);
    let url = lane.url();
    let held = hold_on(url.trim_start_matches("http://").split('/').next().unwrap());
    lane.process.terminate();
    let ended = lane.process.wait(PATIENCE);
    assert!(ended.status.success(), "{}", ended.stderr);
    drop(held);
}

#[test]
fn when_nobody_is_there() {
    stops(|_| None);
}

#[test]
fn when_a_stranger_holds_half_a_request() {
    stops(|address| {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(b"POST /api/ev").unwrap();
        Some(stream)
    });
}

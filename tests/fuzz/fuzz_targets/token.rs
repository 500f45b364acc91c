//! A stranger's token, its header and claims, and a key source's answer: no bytes make a panic, and
//! none are taken for a signed token.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| eventlane_ingest::fuzz::token(bytes));

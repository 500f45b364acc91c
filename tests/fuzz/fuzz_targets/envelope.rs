#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| eventlane_properties::envelope(input));

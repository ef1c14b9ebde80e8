//! Operations on a simulated disk, against brute force.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| nearkin::fuzzing::operations(data));

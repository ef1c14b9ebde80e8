//! Fuzzes operations on a simulated disk, and compares with brute force.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| nearkin::fuzzing::operations(data));

//! Fuzzes signatures: computes them from parameters and a text, and compares with the definitions.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| nearkin_sketch::fuzzing::text(data));

//! Manifests of a sharded index, and what reads and writes the index that has them.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| nearkin::fuzzing::manifest(data));

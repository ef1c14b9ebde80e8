//! Fuzzes manifests of a sharded index, and the readers and writers of such an index.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| nearkin::fuzzing::manifest(data));

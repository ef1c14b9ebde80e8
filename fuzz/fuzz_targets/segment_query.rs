//! Fuzzes forged segments and dead files with valid checksums: reads the files directly, and in a
//! whole index.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| nearkin::fuzzing::segment_query(data));

//! Forged segments and dead files under right checksums, alone and in a whole index.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| nearkin::fuzzing::segment_query(data));

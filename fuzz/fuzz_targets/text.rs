//! From parameters and a text to a signature, against the definitions.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| nearkin::fuzzing::text(data));

//! Rows of the catalog, as bytes and as values, and the index that has them.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| nearkin::fuzzing::catalog_row(data));
